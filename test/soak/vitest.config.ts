import { defineConfig } from "vitest/config";
import { LongestFirst } from "../support/longest-first.ts";

/** What keeps one core busy, or waits: three of them run side by side. */
const sideBySide = [
  "test/soak/*-model.soak.ts",
  "test/model/{*.fault-workload,*.grpc,*.growth,*.outage}.check.ts",
  "test/platform/engine/fault-workload.check.ts",
  "test/soak/client-*.soak.ts",
  "test/temporal/answers-by-hand.test.ts",
  // They wait for Temporal to miss the workers that they kill.
  "test/soak/bulk-grants*.soak.ts",
  "test/soak/*temporal*.soak.ts",
  "test/soak/{announcements,cancel-races,console,dev-stack,events,json-fuzz}.soak.ts",
  "test/soak/feeds-killed-servers.soak.ts",
  "test/soak/{event-alerts,missed-work-alerts}.soak.ts",
  "test/soak/{chaos,demo,policies,purge-target,rolling-restart,transports,upgrade}.soak.ts",
  "test/soak/{alerts,export-ledger,restore,restore-drill,runbook,workers}.soak.ts",
];

/** The tests of whole processes whose store fails; those of clients run on both transports. */
const storeFaults = [
  "test/platform/edge/{drain,health,hung-store}.{test,check}.ts",
  "test/points/rpc/contention.check.ts",
  "test/temporal/store-faults.check.ts",
];

/** Soak tests, which run for long. Those that use the whole machine run one at a time. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    provide: { soak: "long", hasShortWaits: false, dynamoTransport: "thin" },
    globalSetup: "test/support/global-setup.ts",
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    testTimeout: 20 * 60_000,
    hookTimeout: 10 * 60_000,
    passWithNoTests: true,
    projects: [
      {
        extends: true,
        test: {
          name: "side by side",
          include: sideBySide,
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "by the SDK's transport",
          include: storeFaults,
          provide: { dynamoTransport: "sdk" },
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "whole machine",
          include: ["test/soak/**/*.soak.ts"],
          exclude: sideBySide,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
