/** Tests that reports which fail are counted by kind. */
import { expect, test } from "vitest";
import {
  type BulkGrantReport,
  type Reporter,
  ReportUncertain,
} from "../../../src/bulk-grants/ports/bulk-grants.ts";
import { countFailedReports } from "../../../src/bulk-grants/slack/counted-reporter.ts";

const unsent = new Error("no connection to Slack");
const uncertain = new ReportUncertain("no answer from Slack");

const failing: Reporter = {
  send: ({ kind }) => (kind === "OUTCOME" ? Promise.resolve() : Promise.reject(unsent)),
  sendRuleChange: () => Promise.reject(uncertain),
  sendPickUp: () => Promise.reject(unsent),
};

const of = (kind: BulkGrantReport["kind"]) => ({ kind }) as BulkGrantReport;

test("reports that fail, or may have failed, are counted, and their errors pass", async () => {
  const reporter = countFailedReports(failing);
  const counts = async () => {
    const { values } = await reporter.failed.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.kind, value]));
  };
  const none = {
    WAITING: 0,
    RAISED: 0,
    REMINDER: 0,
    APPROVED: 0,
    ENDED: 0,
    OUTCOME: 0,
    RULE_CHANGE: 0,
  };
  expect(await counts()).toEqual({ ...none, PICK_UP: 0 });
  await reporter.send(of("OUTCOME"));
  await expect(reporter.send(of("REMINDER"))).rejects.toBe(unsent);
  await expect(reporter.send(of("REMINDER"))).rejects.toBe(unsent);
  await expect(reporter.sendRuleChange({} as never)).rejects.toBe(uncertain);
  await expect(reporter.sendPickUp({} as never)).rejects.toBe(unsent);
  expect(await counts()).toEqual({ ...none, REMINDER: 2, RULE_CHANGE: 1, PICK_UP: 1 });
});
