/** The dependencies of all features: those of the last one, which extend those before it. */
export type { Deps, EventDeps, Reader, WorkerDeps, Workflows } from "../events/ports/deps.ts";
