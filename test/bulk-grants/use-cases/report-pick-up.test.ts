/** Tests how many messages a pick-up sends. */
import { expect, test } from "vitest";
import { reportPickUp } from "../../../src/bulk-grants/use-cases/pick-up-sheet.ts";
import { recordReports } from "../../support/servers/bulk-ports.ts";

const report = (count: number, moreCount: number) => ({
  programId: "cafe",
  sheets: Array.from({ length: count }, (_, i) => ({ source: `nightly/${i}.csv`, reason: "x" })),
  moreCount,
  workflowId: "pick-up",
});

test.each([
  [1, 0, [1]],
  [5, 0, [1, 1, 1, 1, 1]],
  [6, 0, [6]],
  [20, 80, [20]],
])("%i sheets and %i more are so many messages", async (count, moreCount, sizes) => {
  const reporter = recordReports();
  await reportPickUp({ reporter }, report(count, moreCount));
  expect(reporter.pickUps.map(({ sheets }) => sheets.length)).toEqual(sizes);
});

test("after a message that was not sent comes none", async () => {
  let sent = 0;
  const reporter = {
    ...recordReports(),
    async sendPickUp() {
      sent += 1;
      throw new Error("no answer");
    },
  };
  await expect(reportPickUp({ reporter }, report(5, 0))).rejects.toThrow("no answer");
  expect(sent).toBe(1);
});
