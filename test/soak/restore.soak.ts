/**
 * The drill of docs/run/restore.md with real workers: tables copied one after another under a
 * workload, the command in a process of its own, an empty namespace, and every call once more
 * before workers.
 */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { react } from "../../src/feed/use-cases/reactions/commands.ts";
import { registerTarget } from "../../src/feed/use-cases/reactions/targets.ts";
import { capturePoints, holdPoints } from "../../src/holds/use-cases/commands.ts";
import { refundPoints } from "../../src/holds/use-cases/refund.ts";
import type { Deps } from "../../src/hub/deps.ts";
import { localTableDefinitions } from "../../src/ops/tables/definitions.ts";
import { createTables } from "../../src/ops/tables/manage-tables.ts";
import type { Item } from "../../src/platform/dynamodb/sdk/attributes.ts";
import { type Table, tableName } from "../../src/platform/dynamodb/tables.ts";
import { allPages } from "../../src/platform/ports/pages.ts";
import { asService } from "../../src/platform/words/caller.ts";
import { eventName } from "../../src/points/rules/ledger.ts";
import { grantPoints, usePoints } from "../../src/points/use-cases/commands.ts";
import { verifyAccount } from "../../src/points/use-cases/verify.ts";
import { cancelReservation, createReservation } from "../../src/reservations/use-cases/commands.ts";
import { getReservation } from "../../src/reservations/use-cases/queries.ts";
import { ensureSchedules } from "../../src/temporal/schedules.ts";
import { approve, comesTo, submit, usersOf } from "../support/fixtures/bulk-grants.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { startWorkerStack, type WorkerStack, withoutTemporal } from "../support/servers/worker.ts";
import { inForm } from "../support/soak.ts";
import { putItems } from "../support/stores/copy-table.ts";
import { deleteTables } from "../support/stores/delete-tables.ts";
import { itemsOf } from "../support/stores/dump.ts";

const caller = asService("shop");
const target = { type: "post", id: "one" };
const users = Array.from({ length: 8 }, (_, i) => `user-${i}`);
const rows = usersOf("spring", inForm({ short: 60, long: 600 }));
/** The calls go on until all tables are copied, and are at least so many. */
const leastCalls = inForm({ short: 30, long: 240 });

/** Whether a call holds points, and whether the rest is left held behind a refunded capture. */
const isHeld = (number: number) => number % 5 === 0;
const isLeftHeld = (number: number) => number % 3 === 0;

async function holdAndCapture(
  deps: Deps,
  programId: string,
  userId: string,
  number: number,
  dueTime: number,
): Promise<void> {
  const held = { programId, userId, holdId: `h${number}`, reason: "", caller };
  const until = dueTime + 30 * 86_400_000;
  await holdPoints(deps, {
    ...{ ...held, points: 4, until, allowPartial: false },
    expiredPointsPolicy: "ORIGINAL_EXPIRY",
  });
  await capturePoints(deps, { ...held, eventId: "c", points: 1, moreFollow: isLeftHeld(number) });
  await refundPoints(deps, {
    ...{ ...held, eventId: `f${number}`, useEventId: "c", points: undefined, deadline: undefined },
    expiredPointsPolicy: "ORIGINAL_EXPIRY",
  });
}

const holdEvents = (number: number) => [
  ...[`h:h${number}`, `h:h${number}/capture/c`, `c:f${number}`],
  ...(isLeftHeld(number) ? [] : [`h:h${number}/release`]),
];

/** The calls of one user of every service, by their number. */
async function call(deps: Deps, programId: string, number: number, dueTime: number): Promise<void> {
  const userId = users[number % users.length] as string;
  const common = { programId, userId, reason: "", caller, deadline: undefined };
  await grantPoints(deps, { ...common, eventId: `g${number}`, points: 10 });
  await usePoints(deps, { ...common, eventId: `u${number}`, points: 3, allowPartial: false });
  if (isHeld(number)) await holdAndCapture(deps, programId, userId, number, dueTime);
  await createReservation(deps, {
    ...{ programId, userId, reservationId: `r${number}`, points: 5, reason: "", caller },
    executeTime: dueTime + number * 50,
  });
  await react(deps, { target, kind: "like", userId: `person-${number}`, displayName: "a person" });
}

/** Runs the command as an operator does, whatever its exit code. Returns what it prints. */
function compare(prefix: string, ...args: string[]): Promise<string> {
  const env = {
    ...{ PATH: process.env.PATH, AWS_REGION: "local", MEGURI_LOG_LEVEL: "warn" },
    ...{ MEGURI_TABLE_PREFIX: prefix, MEGURI_DYNAMODB_ENDPOINT: inject("dynamodbEndpoint") },
  };
  const command = ["tools/restore/main.ts", ...args];
  return promisify(execFile)(process.execPath, command, { env }).then(
    ({ stdout }) => stdout,
    ({ code, stdout }: { readonly code: number; readonly stdout: string }) => {
      expect(code).toBe(1);
      return stdout;
    },
  );
}

test("the restored tables agree, and each call is made once", async () => {
  const original = await startWorkerStack({ store: "proxied dynamodb" });
  onTestFinished(() => original.stop());
  const { deps, programId, config, clients } = original;
  const table = tableName(config.tablePrefix);
  await registerTarget(deps, { target, ownerId: "owner", title: "", link: "" });
  await submit(deps, programId, { id: "spring", userIds: rows });
  await approve(deps, await comesTo(original, "spring", "AWAITING_APPROVAL"));
  // Cancelled after its table was copied, and due before the restored workers start. It has no run
  // that could grant it before it is cancelled.
  const cancelled = { programId, reservationId: "cancelled", reason: "", caller };
  const [userId = ""] = users;
  const due = { points: 5, executeTime: Date.now() + 1_000 };
  await createReservation(withoutTemporal(deps), { ...cancelled, userId, ...due });
  const cancel = (from: Deps) =>
    cancelReservation(from, { ...cancelled, caller, deadline: undefined });
  const dueTime = Date.now() + 2_000;
  let sent = 0;
  let isCopied = false;
  const sending = (async () => {
    for (; !isCopied || sent < leastCalls; sent++) await call(deps, programId, sent, dueTime);
  })();
  /** Waits for more calls, one of which holds points. */
  const moreCalls = async () => {
    const wanted = sent + 6;
    await eventually(async () => expect(sent).toBeGreaterThanOrEqual(wanted));
  };
  const copies = new Map<Table, Item[]>();
  const copy = async (each: Table) => {
    copies.set(each, await itemsOf(clients.retrying, table(each)));
  };
  await moreCalls();
  await copy("accounts");
  await moreCalls();
  await copy("points");
  // Granted between the copies of points and reservations.
  const granted = `r${sent + 1}`;
  await moreCalls();
  await copy("notifications");
  await isGranted(original, granted);
  await copy("reservations");
  for (const each of ["reactions", "bulk"] as const) {
    await moreCalls();
    await copy(each);
  }
  await cancel(deps);
  isCopied = true;
  await sending;

  const prefix = `restored-${randomUUID().slice(0, 8)}-`;
  // They are gone already unless the test fails before their own stack starts, which deletes them.
  onTestFinished(() => deleteTables(clients.retrying, tableName(prefix)).catch(() => {}));
  await createTables(clients.retrying, localTableDefinitions(tableName(prefix)));
  for (const [each, items] of copies) {
    await putItems(clients.retrying, tableName(prefix)(each), items);
  }
  const found = await compare(prefix);
  for (const kind of ["RESERVATION_GRANT_LOST", "HOLD_DIFFERS"]) expect(found).toContain(kind);
  expect(await compare(prefix, "--repair")).toMatch(/[1-9]\d* mended/);
  expect(await compare(prefix, "--repair")).toContain(" 0 mended");

  const env = { MEGURI_TABLE_PREFIX: prefix };
  const restored = await startWorkerStack({
    store: "proxied dynamodb",
    programId,
    env,
    worker: false,
  });
  onTestFinished(() => restored.stop());
  await ensureSchedules(restored.workflows, restored.deps.reader, []);
  for (let number = 0; number < sent; number++) {
    await call(restored.deps, programId, number, dueTime);
  }
  await cancel(restored.deps);
  await restored.startWorker();
  await comesTo(restored, "spring", "DONE");
  for (let number = 0; number < sent; number++) await isGranted(restored, `r${number}`);
  const { reservation } = await getReservation(restored.deps, cancelled);
  expect(reservation.state).toBe("CANCELLED");
  expect(await compare(prefix)).toContain(" 0 mended, 0 left");
  await expectEachOnce(restored, sent);
});

const isGranted = ({ deps, programId }: WorkerStack, reservationId: string) =>
  eventually(async () => {
    const { reservation } = await getReservation(deps, { programId, reservationId });
    expect(reservation.state).toBe("DONE");
  });

/** Each event of the calls is in the ledger of its account once, and in no other number. */
async function expectEachOnce({ deps, programId }: WorkerStack, calls: number): Promise<void> {
  for (const [i, userId] of users.entries()) {
    const names: string[] = [];
    const read = (page: { size: number; cursor: string | undefined }) =>
      deps.reader.storedEntries({ programId, userId }, page);
    for await (const entries of allPages(500, read)) {
      names.push(...entries.map(({ event }) => eventName(event)));
    }
    const numbers = Array.from({ length: calls }, (_, n) => n).filter(
      (n) => n % users.length === i,
    );
    const wanted = numbers.flatMap((n) => [
      ...[`c:g${n}`, `c:u${n}`, `r:r${n}`],
      ...(isHeld(n) ? holdEvents(n) : []),
    ]);
    expect(names.sort()).toEqual(wanted.sort());
    expect((await verifyAccount(deps, { programId, userId }, false)).differences).toEqual([]);
  }
}
