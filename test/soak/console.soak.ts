/**
 * Asks Temporal's Web UI, in Chromium, the questions that pages of docs/run answer by it. This
 * command also takes the screenshots of docs/run/images:
 *
 *     TEST_SCREENSHOTS=1 npm run test:soak -- test/soak/console.soak.ts
 */
import { readFileSync } from "node:fs";
import type { WorkflowHandle } from "@temporalio/client";
import type { Browser, Page } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  approveBulkGrant,
  cancelBulkGrant,
  pauseBulkGrant,
} from "../../src/bulk-grants/use-cases/commands.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { createProgram } from "../../src/points/use-cases/programs/commands.ts";
import { verifyAccount } from "../../src/points/use-cases/verify.ts";
import { reservationWorkflowId } from "../../src/reservations/contract/reservations.ts";
import {
  cancelReservation,
  rescheduleReservation,
} from "../../src/reservations/use-cases/commands.ts";
import { pauseProgramReservations } from "../../src/reservations/use-cases/pause.ts";
import { startTemporal, type Temporal } from "../../tools/dev/stack/temporal-dev-server.ts";
import {
  balances,
  bulkGrantRun,
  comesTo,
  submit,
  usersOf,
} from "../support/fixtures/bulk-grants.ts";
import { holdAndBegin } from "../support/fixtures/holds.ts";
import { grantTo } from "../support/fixtures/month-ends.ts";
import { showsDetails } from "../support/fixtures/operators.ts";
import { freeze, handleOf, reserve, reserveAndStart } from "../support/fixtures/reservations.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { projectRoot } from "../support/markdown.ts";
import { startChromium } from "../support/servers/chromium.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";
import { changeItem } from "../support/stores/change-item.ts";

const pages = ["reservations", "bulk-grants", "schedules", "watching"].map((name) =>
  readFileSync(`${projectRoot}docs/run/${name}.md`, "utf8"),
);

const columns = ["Program", "User", "Points", "Caller", "ExecuteTime", "State", "Reason", "Month"];

let temporal: Temporal;
let stack: WorkerStack;
let browser: Browser;
let page: Page;
beforeAll(async () => {
  temporal = await startTemporal({ ui: true, ignoreRunning: true });
  stack = await startWorkerStack({
    store: "proxied dynamodb",
    temporalAddress: temporal.address,
    programId: "default",
    // So few rows a second that most are left when the first failed one is shown.
    env: { MEGURI_BULK_ROWS_PER_SECOND: "20" },
  });
  const cafe = { programId: "cafe", timeZone: "Asia/Tokyo", lifetimeMonths: 12 };
  await createProgram({ ...stack.deps, background: () => {} }, cafe);
  browser = await startChromium();
  page = await browser.newPage();
  await page.setViewport(usualSize);
  await page.goto(`${temporal.uiUrl}/namespaces/default/workflows`);
  // As the gear below the list does it.
  await page.evaluate(
    (labels) => {
      const shown = ["Status", "Workflow ID", ...labels].map((label) => ({ label }));
      localStorage.setItem("namespace-workflow-table-columns", JSON.stringify({ default: shown }));
    },
    columns.map((name) => `Meguri${name}`),
  );
});
afterAll(async () => {
  await browser?.close();
  await stack?.stop();
  await temporal?.stop();
});

/** A script that tells whether a frame shows a text, neither scrolled away nor cut. */
const isShown = (text: string): string => `(() => {
  const wanted = ${JSON.stringify(text)};
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    const start = node.nodeValue.indexOf(wanted);
    if (start < 0) continue;
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, start + wanted.length);
    const isWhole = [...range.getClientRects()].every(({ left, top, width, height }) => {
      const found = document.elementFromPoint(left + width / 2, top + height - 2);
      return found !== null && node.parentElement.contains(found);
    });
    if (isWhole) return true;
  }
  return false;
})()`;

/** Which of the texts no frame of the page shows. */
async function missingOf(texts: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const text of texts) {
    const inFrames = page.frames().map((frame) => frame.evaluate(isShown(text)).catch(() => false));
    if (!(await Promise.all(inFrames)).includes(true)) missing.push(text);
  }
  return missing;
}

/** How long a page takes at most until it shows what it has; it is loaded again after that. */
const pageMs = 8_000;

/** Expects that a page of the Web UI shows all of these texts, and takes a screenshot of it. */
async function expectShown(path: string, texts: readonly string[], image?: string): Promise<void> {
  await eventually(async () => {
    await page.goto(`${temporal.uiUrl}/namespaces/default/workflows${path}`);
    await eventually(async () => expect(await missingOf(texts)).toEqual([]), pageMs);
  });
  if (image === undefined || !process.env.TEST_SCREENSHOTS) return;
  await page.screenshot({ path: `${projectRoot}docs/run/images/${image}.png` });
}

const list = (query: string) => `?query=${encodeURIComponent(query)}`;

/** Wide enough for a list with its columns. */
const usualSize = { width: 1_900, height: 900 };

/** The page of the newest run of a workflow. */
async function tabOf(handle: WorkflowHandle, tab: string): Promise<string> {
  const { runId } = await handle.describe();
  return `/${encodeURIComponent(handle.workflowId)}/${runId}/${tab}`;
}

const expectDetails = async (handle: WorkflowHandle, texts: readonly string[], image?: string) =>
  expectShown(await tabOf(handle, "user-metadata"), texts, image);

/** Asks a question that a page of the docs answers in these words. */
const question = (words: string, answer: () => Promise<void>) =>
  test(words, async () => {
    expect(pages.join("\n")).toContain(words);
    await answer();
  });

const hour = 3_600_000;
const byShop = { caller: asService("shop"), reason: "asked by support" };

question("What is due in the next hour?", async () => {
  await reserve(stack.deps, "default", { id: "review-77", userId: "aoi", points: 120, inMs: hour });
  const end = new Date(Date.now() + 2 * hour).toISOString();
  const query = `ExecutionStatus = "Running" AND MeguriExecuteTime < "${end}"`;
  await expectShown(list(query), ["review-77", "aoi", "120", "tests"], "due-next-hour");
});

question("Why a run waits", async () => {
  const shown = ["120 points for aoi, reserved for", "Request Cancellation", " cancels it."];
  await expectDetails(handleOf(stack, "review-77"), shown, "reservation-sleeping");
});

question("What has failed?", async () => {
  await freeze(stack, "dan", true);
  const handle = await reserveAndStart(stack, { id: "review-84", userId: "dan" });
  await handle.result().catch(() => {});
  const query = 'WorkflowType = "reservation" AND ExecutionStatus = "Failed"';
  const found = ["review-84", "dan", "FAILED", "ACCOUNT_FROZEN"];
  await expectShown(list(query), found, "reservations-failed");
});

question("What has failed today?", async () => {
  const start = new Date(Date.now() - hour).toISOString();
  const query = `ExecutionStatus = "Failed" AND CloseTime > "${start}"`;
  await expectShown(list(query), ["review-84", "ACCOUNT_FROZEN"], "failed-today");
});

question("Why it failed, and what to do now", async () => {
  await expectDetails(
    handleOf(stack, "review-84"),
    [
      "the account is frozen (ACCOUNT_FROZEN).",
      "What to do now:",
      "unfreeze the account, then call RetryReservation",
    ],
    "reservation-failed",
  );
});

question("What waits for a paused program?", async () => {
  const paused = { caller: asService("ops"), reason: "points doubled by mistake" };
  await pauseProgramReservations(stack.deps, { programId: "cafe", deadline: undefined, ...paused });
  await reserve(stack.deps, "cafe", { id: "stamp-9", userId: "ben", points: 20 });
  const query = 'MeguriProgram = "cafe" AND MeguriState = "PAUSED"';
  const found = ["stamp-9", "ben", "PAUSED", "PROGRAM_PAUSED"];
  await expectShown(list(query), found, "reservations-paused");
  const handle = stack.client.workflow.getHandle(reservationWorkflowId("cafe", "stamp-9"));
  await expectDetails(handle, ["The program is paused by ops (points doubled by mistake)."]);
});

question("Who asked, changed, cancelled or retried it, and why", async () => {
  const id = "review-82";
  const handle = await reserveAndStart(stack, { id, userId: "chie", inMs: hour });
  const move = { programId: "default", reservationId: id, executeTime: Date.now() + 2 * hour };
  await rescheduleReservation(stack.deps, { ...move, ...byShop });
  await expectDetails(
    handle,
    ["reserved by: ren via tests", "Changed last by shop (asked by support)."],
    "reservation-moved",
  );
  await page.setViewport({ ...usualSize, height: 1_320 });
  const waits = ["grantWhenDue", "Next Retry", "reserved_by", "Workflow Execution Started"];
  await expectShown(await tabOf(handle, "history"), waits, "reservation-waiting");
  await page.setViewport(usualSize);
  await cancelReservation(stack.deps, { programId: "default", reservationId: id, ...byShop });
  await handle.result().catch(() => {});
  await expectDetails(handle, ["Cancelled by shop (asked by support)."], "reservation-cancelled");
});

question("How late was it?", async () => {
  const handle = await reserveAndStart(stack, { id: "review-78", userId: "eri" });
  await handle.result();
  await expectDetails(
    handle,
    [" late: 10 points available, ledger entry 1."],
    "reservation-granted",
  );
});

question("What is due and waits for a reason?", async () => {
  const handle = await reserveAndStart(stack, { id: "review-99", userId: "hana", inMs: 500 });
  stack.proxy.faults({ lostAnswer: 1, lostBy: "silence", operations: "all" });
  await showsDetails(handle, "Due since");
  const details = ["Due since", "(STORE_UNAVAILABLE). Others wait for the same reason:"];
  await expectDetails(handle, details, "reservation-retrying");
  const query = 'WorkflowType = "reservation" AND MeguriState = "RETRYING"';
  const found = ["review-99", "hana", "RETRYING", "STORE_UNAVAILABLE"];
  await expectShown(list(query), found, "reservations-retrying");
  // Who gets how much, and when.
  const states = ["RETRYING", "PAUSED", "PROGRAM_PAUSED", "FAILED", "Completed", "Canceled"];
  const users = ["hana", "aoi", "120", "ben", "dan", "eri", "chie"];
  await expectShown(
    list('WorkflowType = "reservation"'),
    [...states, ...users],
    "reservations-list",
  );
  stack.proxy.faults({});
  await handle.result();
});

/** Sets an account a year behind, and its number behind its ledger, so that nothing can expire. */
const damage = (userId: string) =>
  changeItem(
    stack.clients.retrying,
    `${stack.config.tablePrefix}accounts`,
    { pk: { S: `A#default#${userId}` }, sk: { S: "A" } },
    ({ m, xm, ...item }) => {
      const yearBefore = (month: typeof m) => ({ N: String(Number(month?.N) - 12) });
      return { ...item, m: yearBefore(m), xm: yearBefore(xm), n: { N: "0" } };
    },
  );

question("Is the month end of a month done?", async () => {
  const { client, config, deps } = stack;
  const start = (name: string) =>
    client.workflow.start("monthEnd", {
      workflowId: `month-end/default-${name}`,
      taskQueue: config.taskQueue,
      args: [{ program_id: "default" }],
    });
  for (const userId of ["customer-1", "customer-2"]) {
    await grantTo(stack, "default", userId, "e", 10);
  }
  await damage("customer-1");
  const incomplete = await start("incomplete");
  await expect(incomplete.result()).rejects.toThrow();
  const left = ["is incomplete. ", ", 1 failed: customer-1 (CONTENDED)"];
  await expectDetails(incomplete, left, "month-end");
  await verifyAccount(deps, { programId: "default", userId: "customer-1" }, true);
  const month = await start("now");
  const { months } = await month.result();
  const query = `WorkflowType = "monthEnd" AND MeguriMonth = "${months.month}"`;
  await expectShown(list(query), [months.month, "FAILED", "DONE"], "month-ends-of-a-month");
  await expectDetails(month, [`(${months.month}) is done.`]);
});

question("How was the month end of every program?", async () => {
  const start = new Date(Date.now() - hour).toISOString();
  const query = `WorkflowType = "monthEnd" AND StartTime > "${start}"`;
  await expectShown(list(query), ["month-end/default-now", "DONE"], "month-ends");
});

question("What is held?", async () => {
  const handle = await holdAndBegin(stack, "fumi", hour);
  const query = 'WorkflowType = "hold" AND ExecutionStatus = "Running"';
  await expectShown(list(query), ["fumi", "10"], "holds-list");
  await expectDetails(handle, ["10 points of fumi. Held until ", "reason: test"], "hold-open");
});

async function submitted(id: string, userIds: readonly string[], title: string) {
  await submit(stack.deps, "default", { id, userIds, points: 500, title });
  return bulkGrantRun(stack, id);
}

/** Approves once the accounts of some users are frozen, which a validation would have found. */
async function approveFrozen(id: string, userIds: readonly string[]): Promise<void> {
  const { revision } = await comesTo(stack, id, "AWAITING_APPROVAL");
  for (const userId of userIds) await freeze(stack, userId, true);
  await approveBulkGrant(stack.deps, {
    ...{ programId: "default", bulkGrantId: id, digest: revision.digest },
    ...{ caller: asService("approver"), reason: "agreed with finance" },
  });
}

question("What waits for an approval?", async () => {
  const waiting = await submitted("spring-2028", usersOf("member", 30), "Spring campaign");
  const { revision } = await comesTo(stack, "spring-2028", "AWAITING_APPROVAL");
  const query = 'MeguriState = "AWAITING_APPROVAL" AND ExecutionStatus = "Running"';
  const found = ["spring-2028", "15000", "desk", "AWAITING_APPROVAL"];
  await expectShown(list(query), found, "bulk-grants-awaiting-approval");
  const texts = [
    ...[revision.digest, "in all: 30 rows, 30 members, 15,000 points", "approvals: 0 of 1"],
    ...["reason: test: 30 rows, 15,000 points", "points expire: "],
  ];
  await expectDetails(waiting, texts, "bulk-grant-waiting");
});

question("What waits for a person?", async () => {
  const query = 'MeguriState = "AWAITING_APPROVAL" AND ExecutionStatus = "Running"';
  await expectShown(list(query), ["spring-2028", "AWAITING_APPROVAL"], "waits-for-a-person");
});

question("What runs? What is paused?", async () => {
  const run = await submitted("summer-2028", usersOf("runner", 1_000), "Summer campaign");
  await approveFrozen("summer-2028", ["runner-3"]);
  await showsDetails(run, "- pace: ");
  await showsDetails(run, "line 5: ACCOUNT_FROZEN");
  // No row is executed until the pages have been seen, however long they take.
  stack.proxy.faults({ throttle: 1, operations: ["TransactWriteItems"] });
  const pace = ["executes the rows since ", " rows a second, about "];
  const running = ["RUNNING", ...pace, "line 5: ACCOUNT_FROZEN"];
  await expectDetails(run, running, "bulk-grant-running");
  const name = { programId: "default", bulkGrantId: "summer-2028" };
  await pauseBulkGrant(stack.deps, { ...name, ...byShop });
  stack.proxy.faults({});
  await expectDetails(run, ["PAUSED", "Paused by shop (asked by support)."]);
  const query = 'WorkflowType IN ("bulkGrant", "bulkGrantFromSource") AND MeguriState = "PAUSED"';
  await expectShown(list(query), ["summer-2028", "PAUSED"], "bulk-grants-paused");
  await cancelBulkGrant(stack.deps, { ...name, ...byShop });
  await comesTo(stack, "summer-2028", "CANCELLED");
});

question("What ended with failed rows?", async () => {
  const userIds = usersOf("winter", 30);
  const run = await submitted("winter-2028", userIds, "Winter campaign");
  await approveFrozen("winter-2028", ["winter-6", "winter-20"]);
  await run.result();
  expect((await balances(stack, userIds))[500]).toBe(28);
  const found = ["winter-2028", "Completed", "DONE_WITH_FAILURES"];
  await expectShown(list('MeguriState = "DONE_WITH_FAILURES"'), found, "bulk-grants-list");
  const details = ["DONE_WITH_FAILURES", "line 8: ACCOUNT_FROZEN", "line 22: ACCOUNT_FROZEN"];
  await expectDetails(run, details, "bulk-grant-failed-rows");
  await expectShown(await tabOf(run, "memo"), ["DONE_WITH_FAILURES, 2 of 30 rows failed"]);
});

question("Who approved it, when, and with which note?", async () => {
  const run = bulkGrantRun(stack, "winter-2028");
  await expectDetails(run, ["approvals: 1 of 1", "(agreed with finance)"]);
});

question("What somebody touched", async () => {
  await expectShown(list('MeguriActor = "shop"'), ["review-82", "summer-2028"], "actor");
});
