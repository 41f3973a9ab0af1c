import { defineConfig } from "vitest/config";
import soak from "./vitest.config.ts";

const { projects: _, ...shared } = soak.test ?? {};

/** The short form of each soak test: known seeds, and one round of what takes minutes. */
export default defineConfig({
  test: {
    ...shared,
    provide: { ...shared.provide, soak: "short" },
    include: ["test/soak/**/*.soak.ts"],
    // Its short form is test/model/events.fault-workload.check.ts.
    exclude: ["test/soak/events.soak.ts"],
    // Three of them use two cores for two thirds of the time; more than four would keep slow cores
    // from their turns.
    maxWorkers: 4,
  },
});
