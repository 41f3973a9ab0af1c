/**
 * Starts the files that take longest first, so that none of them runs alone at the end. Vitest
 * remembers how long each file took, but begins a fresh clone with the largest files.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take long for their size, from the longest one on. */
export const longFiles: readonly string[] = [
  "test/soak/upgrade.soak.ts",
  "test/soak/alerts.soak.ts",
  "test/soak/missed-work-alerts.soak.ts",
  "test/soak/chaos.soak.ts",
  "test/soak/runbook.soak.ts",
  "test/soak/console.soak.ts",
  "test/soak/policies.soak.ts",
  "test/soak/bulk-grants.soak.ts",
  "test/soak/export-ledger.soak.ts",
  "test/soak/demo.soak.ts",
  "test/soak/workers.soak.ts",
  "test/soak/client-languages.soak.ts",
  "test/soak/client-packages.soak.ts",
  "test/soak/transports.soak.ts",
  "test/soak/restore.soak.ts",
  "test/model/reactions.grpc.check.ts",
  "test/temporal/sweeps-by-hand.check.ts",
  "test/points/temporal/expiry-notices.check.ts",
  "test/points/temporal/export-ledger.test.ts",
  "test/temporal/continue-as-new.check.ts",
  "test/bulk-grants/temporal/bulk-grants-faults.check.ts",
  "test/capacity/capacity-units.check.ts",
  "test/cli/commands.test.ts",
  "test/platform/edge/hung-store.check.ts",
  "tools/dynamo-proxy/proxy.check.ts",
  "test/reservations/temporal/reset.test.ts",
  "test/feed/rpc/notifications/watch.test.ts",
  "test/temporal/keep-schedules.check.ts",
  "test/ops/tables/manage-tables.check.ts",
  "test/temporal/operator-changes.test.ts",
  "test/points/temporal/verify-program.check.ts",
  "test/model/reactions.fault-workload.check.ts",
  "test/feed/temporal/purge-target.check.ts",
  "test/ops/setup.check.ts",
  "test/platform/edge/bad-input.test.ts",
  "test/restore/compare-restored.check.ts",
  "test/temporal/api-key.check.ts",
  "test/temporal/answers-by-hand.check.ts",
  "test/platform/engine/fault-workload.check.ts",
  "test/reservations/temporal/pauses.test.ts",
  "test/docs/feed.check.ts",
  "test/reservations/temporal/reconciler.test.ts",
  "test/ops/check-config.check.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const positionOf = ({ moduleId, project }: TestSpecification) => {
      const place = longFiles.indexOf(relative(project.config.root, moduleId));
      return place < 0 ? longFiles.length : place;
    };
    // Project by project, because a process that is shared serves only one of them.
    return [...Map.groupBy(sorted, ({ project }) => project).values()].flatMap((some) =>
      some.sort((a, b) => positionOf(a) - positionOf(b)),
    );
  }
}
