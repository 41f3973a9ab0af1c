/** The dependencies of all features: those of the last one, which extend those before it. */
export type { Deps, Reader, Workflows } from "../bulk-grants/ports/deps.ts";
