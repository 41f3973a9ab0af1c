/**
 * Runs every command of `meguri` against a running stack with a worker, in a pipe and in a
 * pseudo-terminal.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "@commander-js/extra-typings";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createProgram } from "../../packages/cli/src/program.ts";
import { BulkGrant_State as State } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { Reservation_State } from "../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { createExportFolder, type ExportFolderFixture } from "../support/fixtures/export-folder.ts";
import { failReservation } from "../support/fixtures/failed-reservation.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type CommandLine, startCommandLine } from "../support/servers/cli.ts";
import { startServer, type TestServer } from "../support/servers/server.ts";
import { startWorkerStack, type WorkerStack } from "../support/servers/worker.ts";

let folder: string;
let exports: ExportFolderFixture;
let stack: WorkerStack;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-cli-test-"));
  exports = await createExportFolder(["default"]);
  const env = { MEGURI_BULK_ROWS_PER_SECOND: "1000", ...exports.env };
  stack = await startWorkerStack({ env });
  const { tablePrefix } = stack.config;
  const { workflows } = stack;
  server = await startServer({ tablePrefix, workflows, testClock: false, env: exports.env });
  await server.programs.createProgram({ programId: "default" });
});
afterAll(async () => {
  await server?.stop();
  await stack?.stop();
  await exports?.delete();
  await rm(folder, { recursive: true, force: true });
});

describe.each(["pipe", "terminal"] as const)("in a %s", (mode) => {
  const isTerminal = mode === "terminal";
  const user = `${mode}-user`;
  let meguri: CommandLine;
  beforeAll(async () => {
    meguri = await startCommandLine(mode, {
      MEGURI_URL: `http://127.0.0.1:${server.port}`,
      MEGURI_CALLER: "rin",
    });
  });
  afterAll(() => meguri?.close());

  /** Runs a command that has to succeed, and returns what it prints for its reader. */
  async function done(...argv: string[]): Promise<string> {
    const { code, stdout, stderr } = await meguri.run(...argv);
    expect(code, stdout + stderr).toBe(0);
    return stdout;
  }

  /** Runs a command that has to fail, and returns its message. */
  async function failed(code: number, ...argv: string[]): Promise<string> {
    const { stdout, stderr, ...ended } = await meguri.run(...argv);
    expect(ended, stdout + stderr).toEqual({ code });
    return isTerminal ? stdout : stderr;
  }

  /** A line of cells, as this mode prints it. */
  const cells = (...texts: string[]) =>
    expect.stringMatching(new RegExp(texts.join(isTerminal ? " +" : "\t")));

  test("points", async () => {
    const event = (id: string) => ["--event-id", id];
    const why = ["--reason", "gift", "--cause", "order-17"];
    const granted = `granted 120 points to ${user} (event g1), balance 120`;
    expect(await done("grant", user, "120", ...event("g1"), ...why, "--dry-run")).toBe(
      `dry run, nothing is changed: ${granted}\n`,
    );
    expect(await done("grant", user, "120", ...event("g1"), ...why)).toBe(`${granted}\n`);
    expect(await done("grant", user, "120", ...event("g1"), ...why)).toContain(
      "balance 120; replayed: an earlier call had done it",
    );
    expect(await done("use", user, "80", ...event("u1"))).toContain(`used 80 points of ${user}`);
    const use = await failed(1, "use", user, "80", ...event("u2"));
    expect(use).toContain("meguri: INSUFFICIENT_POINTS: ");
    expect(use).toContain("available_points 40");
    expect(await done("use", user, "80", "--allow-partial", ...event("u2"))).toContain("used 40");
    const refund = ["refund", user, "u1", "--points", "30", "--expired-points", "current-month"];
    expect(await done(...refund, ...event("r1"))).toContain("refunded 30 points");
    expect(await done("revoke", user, "g1", ...event("v1"))).toContain("revoked 30 points");
    const month = new Date(Date.now() + 40 * 86_400_000).toISOString().slice(0, 7);
    const ends = ["--expire-month", month];
    expect(await done("grant", user, "5", ...ends, ...event("g3"))).toContain("granted 5 points");
    const later = new Date(Date.now() + 120 * 86_400_000).toISOString().slice(0, 7);
    expect(await done("extend", user, "g3", later, ...event("x1"))).toContain("extended 5 points");
    expect(await done("revoke", user, "x1", ...event("v2"))).toContain("revoked 5 points");
    expect(await done("freeze", user, ...event("f1"))).toContain(`froze the account of ${user}`);
    expect(await failed(1, "grant", user, "1", ...event("g2"))).toContain("ACCOUNT_FROZEN");
    expect(await done("unfreeze", user, ...event("f2"))).toContain("unfroze the account");
  });

  test("an id that nobody has given is printed before the call", async () => {
    const { code, stdout, stderr } = await meguri.run("grant", user, "5");
    expect(code).toBe(0);
    const [, id = ""] = (isTerminal ? stdout : stderr).match(/^event-id ([0-9a-f-]{36})$/m) ?? [];
    expect(stdout).toContain(`granted 5 points to ${user} (event ${id}), balance 5`);
  });

  test("balance and ledger", async () => {
    const balance = await done("balance", user);
    expect(balance.split("\n")).toEqual(
      expect.arrayContaining([cells("^available", "5$"), cells("^refunded", "30$")]),
    );
    expect(balance).toMatch(/^\d{4}-\d\d\s+5\s+\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/m);
    expect(balance.includes("month")).toBe(isTerminal);
    expect(await done("balance", user, "--as-of", "2020-01-01T00:00Z")).toMatch(/^available\s+0$/m);
    const oldestFirst = (await done("ledger", user, "--oldest-first")).split("\n");
    const first = oldestFirst[isTerminal ? 1 : 0];
    expect(first).toEqual(
      cells("^1", "\\S+", "ISSUED", "120", "120", "g1", "rin", "gift", "order-17$"),
    );
    expect(oldestFirst[0]?.startsWith("number")).toBe(isTerminal);
    const since = ["--since", "2020-01-01T00:00Z", "--until", "+1m"];
    const uses = (await done("ledger", user, "--type", "USED", ...since)).trim().split("\n");
    expect(uses).toHaveLength(isTerminal ? 3 : 2);
    expect(await done("ledger", "list", user, "--until", "2020-01-01T00:00Z")).toBe("");
  });

  test("JSON is one document a line, as in the API", async () => {
    const { balance } = JSON.parse(await done("balance", user, "--json"));
    expect(balance).toMatchObject({ availablePoints: "5", frozen: false });
    const lines = (await done("--json", "ledger", user)).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line).type)).toContain("TYPE_REVOKED");
    const error = JSON.parse(await failed(1, "use", user, "9", "--event-id", "u3", "--json"));
    expect(error).toMatchObject({
      error: { reason: "INSUFFICIENT_POINTS", exitCode: 1, metadata: { available_points: "5" } },
    });
  });

  test("an export of the time before everything", async () => {
    const until = ["--until", "2026-01-01T00:00Z"];
    const exported = await meguri.run("ledger", "export", mode, "--to", "audit", ...until);
    const text = exported.stdout + exported.stderr;
    expect({ code: exported.code, text }).toMatchObject({
      code: 0,
      text: expect.stringContaining(`audit/default/${mode}: DONE, 0 entries in 0 parts`),
    });
    expect(await done("ledger", "grep", join(exports.path, "default", mode))).toBe("");
    const reused = ["ledger", "export", mode, "--to", "audit", "--until", "2026-01-02T00:00Z"];
    expect(await failed(1, ...reused)).toContain("ID_REUSED");
  });

  test("one thing, and not one of many", async () => {
    const one = `${mode}-one`;
    expect(await done("grant", one, "1")).toContain(`granted 1 point to ${one} `);
    const { stderr, stdout } = await meguri.run("verify", one);
    expect(stdout + stderr).toContain(`${one}: agrees with the 1 entry of the ledger`);
    expect(await done("reserve", one, "1", "--at", "+2d")).toContain(
      `PENDING: 1 point for ${one} `,
    );
    const cancel = ["reservation", "cancel-many", "--user", one, "--force"];
    expect(await done(...cancel)).toContain("cancelled 1 reservation of 1 point: ");
    const program = ["program", "create", one, "--time-zone", "UTC", "--lifetime-months", "1"];
    expect(await done(...program)).toContain(`${one}: UTC, 1 month\n`);
  });

  test("what is wrong with an option, by the name that was typed", async () => {
    const times = ["--since", "2026-01-02T00:00Z", "--until", "2026-01-01T00:00Z"];
    const refused = ["ledger", "export", `${mode}-wrong`, "--to", "audit", ...times];
    expect(await failed(1, ...refused)).toContain("--until: has to be after --since");
    const error = JSON.parse(await failed(1, ...refused, "--json"));
    expect(error).toMatchObject({ error: { violations: [{ field: "create_time_before" }] } });
    const program = ["ledger", "export", "x", "-p", "no program", "--to", "no#where"];
    const text = await failed(1, ...program, "--until", "2026-01-01T00:00Z");
    expect(text).toContain("--program: ");
    expect(text).toContain("--to: ");
    expect(await failed(1, "grant", user, "5000000000")).toContain("<points>: ");
    expect(await failed(1, "like", "a b", "post/a b", "--name", "B")).toMatch(
      /<target>: .*<user>: |<user>: .*<target>: /,
    );
  });

  test("verify", async () => {
    const { code, stdout, stderr } = await meguri.run("verify", user);
    expect({ code, text: stdout + stderr }).toEqual({
      code: 0,
      text: expect.stringContaining(`${user}: agrees with the`),
    });
    await done("verify", user, "--repair");
    const program = await meguri.run("verify");
    expect(program.stdout + program.stderr).toMatch(/default: DONE, \d+ accounts? compared/);
    expect(program.code).toBe(0);
    const repaired = await meguri.run("verify", "--repair");
    expect(repaired.stdout + repaired.stderr).toMatch(
      /default: DONE, \d+ accounts? compared, 0 differed, 0 repaired, 0 could not/,
    );
    expect(repaired.code).toBe(0);
  });

  test("liability reports", async () => {
    const id = `${mode}-report`;
    const since = ["--since", "2020-01-01T00:00Z"];
    await done("grant", `${user}-owed`, "7");
    const name = `liability report ${id} of default as of`;
    expect(await done("liability", "create", id, ...since)).toContain(`RUNNING: ${name} `);
    const again = await done("liability", "create", id, ...since);
    expect(again).toContain("replayed: it existed already");
    const shown = await eventually(() => done("liability", "show", id));
    expect(shown.split("\n")).toEqual(
      expect.arrayContaining([
        cells("^outstanding_points", "\\d+"),
        cells("^refunded_points", "\\d+$"),
      ]),
    );
    const csv = await done("liability", "show", id, "--csv");
    const [head, ...rows] = csv.split(/\r?\n/);
    expect(head).toBe("item,value,month,expire_time");
    expect(rows[0]).toMatch(/^outstanding_points,\d+,,$/);
    expect(rows[1]).toBe("still_held_points,0,,");
    expect(csv).toMatch(/^bucket,\d+,\d{4}-\d\d,\d{4}-\d\d-\d\dT\d\d:00:00.000Z\r?$/m);
    const lines = (await done("liability", "list")).split("\n");
    expect(lines).toEqual(expect.arrayContaining([cells(`^${id}`, "DONE", "\\S+", "2020-01-01T")]));
    expect(await failed(3, "liability", "show", "no")).toContain("LIABILITY_REPORT_NOT_FOUND");
  });

  test("holds", async () => {
    const holder = `${user}-holds`;
    const id = `${mode}-hold`;
    await done("grant", holder, "100");
    const create = ["hold", "create", holder, "60", "--until", "+1h", "--hold-id", id];
    expect(await done(...create, "--dry-run")).toMatch(/^dry run, nothing is changed: HELD: 60 /);
    expect(await done(...create, "--cause", "order-1")).toMatch(/^HELD: 60 .*, balance 40$/m);
    expect(await done("balance", holder)).toMatch(/^available\s+40\nheld\s+60\n/);
    const capture = ["hold", "capture", holder, id, "20", "--event-id", "paid", "--more"];
    expect(await done(...capture)).toContain("HELD: 60 points");
    expect(await done(...capture)).toContain("20 captured, 0 released");
    expect(await done(...capture)).toContain("replayed");
    expect((await done("hold", "show", id)).split("\n")).toEqual(
      expect.arrayContaining([
        cells("^state", "HELD$"),
        cells("^cause", "order-1$"),
        cells("^capture", "20 points, event paid, "),
      ]),
    );
    expect(await done("hold", "release", holder, id)).toMatch(/^RELEASED: .* 40 released .* 80$/m);
    expect(await done(...capture)).toMatch(/40 released .*, balance then 40; replayed: /);
    expect(await done("balance", holder)).toMatch(/^captured\s+20$/m);
    expect(await failed(1, "hold", "capture", holder, id)).toContain("WRONG_STATE");
    const refund = ["refund", holder, "paid", "--hold", id, "--expired-points", "current-month"];
    expect(await done(...refund, "--event-id", "return")).toContain("refunded 20 points");
    expect(await done("hold", "show", id)).toContain("20 points, 20 refunded, event paid");
    await eventually(async () =>
      expect(await done("hold", "list", holder, "--state", "RELEASED")).toContain(id),
    );
    expect(await done("hold", "list", holder, "--state", "HELD")).not.toContain(id);
  });

  test("reservations", async () => {
    const id = `${mode}-reservation`;
    const reserve = ["reserve", user, "50", "--at", "2030-12-24T09:00+09:00"];
    const pending = `PENDING: 50 points for ${user} at `;
    expect(await done(...reserve, "--reservation-id", id, "--dry-run")).toContain(
      `dry run, nothing is changed: ${pending}`,
    );
    expect(await done(...reserve, "--reservation-id", id)).toContain(pending);
    expect(await done(...reserve, "--reservation-id", id)).toContain("replayed");
    expect((await done("reservation", "show", id)).split("\n")).toEqual(
      expect.arrayContaining([cells("^state", "PENDING$"), cells("^creator", "rin$")]),
    );
    await eventually(async () =>
      expect(await done("reservation", "list", "--user", user)).toContain(id),
    );
    expect(await done("reservation", "reschedule", id, "+2h")).toContain("PENDING: 50 points");
    expect(await done("reservation", "change-points", id, "40")).toContain("PENDING: 40 points");
    expect(await done("balance", user, "--pending")).toMatch(/^pending\s+40$/m);
    expect((await done("reservation", "show", id)).split("\n")).toEqual(
      expect.arrayContaining([cells("^changed by", "rin$")]),
    );
    expect(await done("reservation", "cancel", id, "--dry-run")).toContain(
      "dry run, nothing is changed: CANCELLED: 40 points",
    );
    expect(await done("reservation", "cancel", id)).toContain("CANCELLED: 40 points");
    const early = [...reserve, "--reservation-id", `${id}-early`];
    await done(...early, "--expire-after", "3");
    const { reservation: made } = await server.reservations.getReservation({
      reservationId: `${id}-early`,
    });
    expect(made?.expiry).toEqual({ case: "expireAfterMonths", value: 3 });
    expect(await failed(2, ...early, "--expire-after", "x")).toContain("a whole number");
    const both = ["--expire-after", "3", "--expire-month", "2031-01"];
    expect(await failed(2, ...early, ...both)).toContain("cannot be used with");
    const failing = { programId: "default", reservationId: `${id}-2`, userId: `${user}-frozen` };
    await failReservation(server, failing);
    expect(await done("reservation", "show", failing.reservationId)).toContain("ACCOUNT_FROZEN");
    expect(await done("reservation", "retry", failing.reservationId)).toContain("10 points for");
    await eventually(async () => {
      const { reservation } = await server.reservations.getReservation(failing);
      expect(reservation?.state).toBe(Reservation_State.FAILED);
    });
    expect(await failed(3, "reservation", "show", "none")).toContain("RESERVATION_NOT_FOUND");
    expect(await failed(2, "reservation", "list")).toContain("either --user or --state");
  });

  test.each([
    ["--expire-after", "3", "as after a lifetime of 3 months"],
    ["--expire-month", "2031-01", "at the end of 2031-01"],
  ])("a reservation with %s %s expires %s", async (option, value, text) => {
    const id = `${mode}${option}`;
    const at = ["--at", "2030-12-24T09:00+09:00", "--reservation-id", id];
    await done("reserve", `${user}-later`, "50", ...at, option, value);
    expect((await done("reservation", "show", id)).split("\n")).toContainEqual(
      cells("^expires", `${text}$`),
    );
    await done("reservation", "cancel", id);
  });

  test("likes and notifications", async () => {
    const target = { type: "post", id: `${mode}/1` };
    await server.reactions.registerTarget({ targetName: target, ownerId: user, title: "a post" });
    const name = `post/${mode}/1`;
    expect(await done("like", "bao", name, "--name", "Bao 宝")).toBe(
      `bao likes ${name}, likes: 1\n`,
    );
    expect(await done("like", "bao", name, "--name", "Bao 宝")).toContain("bao liked already");
    expect(await done("notifications", user, "--unread")).toEqual(
      cells("-", "like", name, "1", "Bao 宝", "a post"),
    );
    const watch = meguri.start("notifications", user, "--watch");
    await watch.printed(isTerminal ? "version" : "\t1\t1\t1\t1");
    await server.reactions.react({ targetName: target, userId: "cho", displayName: "Cho" });
    await watch.printed(isTerminal ? "2       1" : "\t2\t1\t1\t2");
    watch.interrupt();
    expect(await watch.done).toMatchObject({ code: 130, stderr: "" });
    expect(await done("unlike", "bao", name)).toContain("bao no longer likes");
    const times = ["--cool-down", "0s", "--regroup-after"];
    expect(await done("like", "dee", name, "--name", "Dee", ...times, "1m")).toContain("dee likes");
    const tooShort = await failed(1, "like", "eve", name, "--name", "Eve", ...times, "59s");
    expect(tooShort).toContain("--regroup-after: ");
    expect(await failed(3, "like", "bao", "post/none", "--name", "Bao")).toContain(
      "TARGET_NOT_FOUND",
    );
  });

  test("events, and what their owner does with a notification", async () => {
    const owner = `${mode}-owner`;
    const event = `${mode}-order`;
    const notify = ["notify", "delivery", "--owner", owner, "--name", "2 bowls"];
    const eventId = ["--event-id", event];
    expect(await done(...notify, "--link", "/orders/7", ...eventId)).toEqual(
      cells(owner, "unread"),
    );
    expect(await done(...notify, "--link", "/orders/7", ...eventId)).toContain("replayed");
    const listed = await done("notifications", owner, "--events", "delivery");
    expect(await done("notifications", owner, "--reactions", "delivery")).toBe("");
    const id = listed.trim().split(/\s+/).at(-1) ?? "";

    const shown = await done("notification", "show", owner, id);
    expect(shown.split("\n")).toContainEqual(cells("event", "2 bowls", "/orders/7"));
    expect(await done("notification", "actors", owner, id)).toEqual(cells("-", "2 bowls"));
    expect(await done("notification", "read", owner, id)).toBe("read; 0 unread\n");
    expect(await done("notification", "read", owner, id)).toBe("read already; 0 unread\n");

    expect(await done("notification", "unread", owner, id)).toBe("unread again; 1 unread\n");
    expect(await done("notification", "unread", owner, id)).toBe("unread already; 1 unread\n");
    expect(await failed(1, ...notify, "--regroup-after", "59s")).toContain("--regroup-after: ");
    const other = `${mode}-dismissed`;
    await done("notify", "delivery", "--owner", other, "--name", "1 bowl", "--regroup-after", "1d");
    const otherId = (await done("notifications", other)).trim().split(/\s+/).at(-1) ?? "";
    expect(await done("notification", "dismiss", other, otherId)).toBe("dismissed; 0 unread\n");
    expect(await done("notifications", other)).toBe("");

    expect(await done("retract", event, "--owner", owner)).toEqual(cells(owner, "retracted"));
    expect(await failed(3, "notification", "show", owner, id)).toContain("NOTIFICATION_NOT_FOUND");
    expect(await failed(3, "retract", "none", "--owner", owner)).toContain("EVENT_NOT_FOUND");
    expect(await failed(2, "notify", "delivery")).toContain("needs --target, --owner or both");
    const nameless = ["notify", "comment", "--owner", owner, "--user", "bao"];
    expect(await failed(2, ...nameless)).toContain("needs --name with --user");
    expect(await failed(2, "retract", event)).toContain("needs --target, --owner or both");
    expect(await done("block", owner, "mallory")).toBe(`${owner} has blocked mallory\n`);
    expect(await done("block", owner, "mallory")).toBe(`${owner} had blocked mallory\n`);
    const targetName = { type: "post", id: `${mode}/2` };
    await server.reactions.registerTarget({ targetName, ownerId: owner, title: "a post" });
    await server.notifications.setTargetMuted({ ownerId: owner, targetName, muted: true });
    expect((await done("muted", owner)).split("\n")).toEqual([
      cells("person", "mallory"),
      cells("target", `post/${mode}/2`, "a post"),
      "",
    ]);
  });

  test("programs", async () => {
    const id = `${mode}-program`;
    expect(await done("program", "create", id, "--lifetime-months", "24")).toBe(
      `created ${id}: Asia/Tokyo, 24 months\n`,
    );
    const notices = ["--notices", '{"expiryDays": 7}'];
    expect(await done("program", "update", id, "--lifetime-months", "36", ...notices)).toBe(
      `updated ${id}: Asia/Tokyo, 36 months\n`,
    );
    expect((await done("program", "list")).split("\n")).toEqual(
      expect.arrayContaining([cells(`^${id}`, "Asia/Tokyo", "36")]),
    );
    expect(await failed(2, "program", "update", id, "--notices", "{")).toContain("--notices");
    expect(await failed(2, "program", "update", id)).toContain("needs a field to change");
    expect(await failed(1, "program", "update", id, "--lifetime-months", "0")).toContain(
      "--lifetime-months: ",
    );
    expect(await failed(3, "balance", user, "--program", "none")).toContain("PROGRAM_NOT_FOUND");
    const rules = ["--bulk-rules", '{"maxPointsPerRow": "7"}'];
    expect(await done("program", "update", id, ...rules)).toContain(
      `bulk rules of ${id}: change 1 is PROPOSED, 0 of 1 approval\n`,
    );
    const { program } = await server.programs.getProgram({ programId: id });
    const digest = program?.bulkRulesChange?.digest ?? "";
    const approve = ["program", "approve", id, "--digest", digest];
    expect(await failed(1, ...approve)).toContain("SELF_APPROVAL");
    expect(await done(...approve, "--caller", "mika")).toContain("change 1 is IN_FORCE");
    expect(await failed(1, "program", "reject", id, "--digest", digest)).toContain("WRONG_STATE");
    expect(await done("program", "rules", id)).toMatch(/1.*IN_FORCE.*mika.*"maxPointsPerRow":"7"/);
    expect(await failed(4, "program", "list", "--caller", "a#b")).toContain("UNAUTHENTICATED");
  });

  test("reservations that are cancelled together", async () => {
    const leaver = `${mode}-leaver`;
    const ids = [`${mode}-many-1`, `${mode}-many-2`];
    for (const id of ids) {
      const reserve = ["reserve", leaver, "30", "--at", "2030-12-24T09:00+09:00"];
      await done(...reserve, "--reservation-id", id, "--reason", `${mode} sale`);
    }
    const ofUser = ["reservation", "cancel-many", "--user", leaver];
    const found = `2 reservations of 60 points: ${ids.join(", ")}\n`;
    const stateOf = async (reservationId: string) =>
      (await server.reservations.getReservation({ reservationId })).reservation?.state;

    if (isTerminal) {
      await eventually(async () => {
        const asking = meguri.start(...ofUser);
        await asking.printed("Cancel 2 reservations of 60 points? [y/N] ");
        asking.type("n\n");
        expect(await asking.done).toMatchObject({ code: 1 });
      });
    } else {
      await eventually(async () => expect(await done(...ofUser)).toBe(`would cancel ${found}`));
    }
    expect(await Promise.all(ids.map(stateOf))).not.toContain(Reservation_State.CANCELLED);

    const window = ["--since", "2030-12-24T00:00Z", "--until", "2030-12-24T01:00Z"];
    const ofReason = ["reservation", "cancel-many", "--reason-prefix", `${mode} sa`, ...window];
    expect(await done(...ofReason, "--reason", "over", "--force")).toBe(`cancelled ${found}`);
    for (const reservationId of ids) {
      const { reservation } = await server.reservations.getReservation({ reservationId });
      const lastChange = { caller: { service: "rin" }, reason: "over" };
      expect(reservation).toMatchObject({ state: Reservation_State.CANCELLED, lastChange });
    }
    expect(await failed(2, "reservation", "cancel-many")).toContain("--user or --reason-prefix");
    expect(await failed(2, ...ofUser, ...window)).toContain("belong to --reason-prefix");
    expect(await failed(2, ...ofReason.slice(0, 4))).toContain("needs --since and --until");
  });

  test("a bulk grant from the check to the corrected sheet", async () => {
    const id = `${mode}-spring`;
    const file = join(folder, `${mode}.csv`);
    await writeFile(file, `user_id,points\n${id}-a,100\n${id}-#b,x\n`);
    const check = await meguri.run("bulk", "check", id, file);
    expect(check.code).toBe(1);
    for (const code of ["USER_MALFORMED", "POINTS_MALFORMED"]) {
      expect(check.stdout).toEqual(cells("3", `${id}-#b`, code));
      expect(check.stdout + check.stderr).toContain(`1 × ${code}`);
    }
    await done("bulk", "submit", `${id}-wrong`, file);
    await awaiting(`${id}-wrong`, State.INVALID);
    expect(await done("bulk", "rows", `${id}-wrong`)).toContain("USER_MALFORMED, POINTS_MALFORMED");

    await writeFile(file, `user_id,points\n${id}-a,100\n${id}-b,50\n`);
    expect(await done("bulk", "submit", id, file, "--title", "夏の特典")).toContain(
      "VALIDATING, revision 1, 2 rows, 150 points (夏の特典)",
    );
    await awaiting(id, State.AWAITING_APPROVAL);
    const same = await meguri.run("bulk", "digest", id, file);
    expect(same).toMatchObject({ code: 0, stdout: expect.stringContaining(await digestOf(id)) });
    expect(same.stdout + same.stderr).toContain("the sheet is exactly what revision 1 holds");
    const changed = join(folder, `${mode}-changed.csv`);
    await writeFile(changed, `user_id,points\n${id}-a,100\n${id}-b,51\n`);
    const other = await meguri.run("bulk", "digest", id, changed);
    expect(other.code).toBe(1);
    expect(other.stdout + other.stderr).toContain(
      "it has 2 rows and 151 points, the revision 2 and 150",
    );
    await server.points.freezeAccount({ userId: `${id}-b`, eventId: "freeze" });
    expect(await failed(1, "bulk", "approve", id, "--digest", await digestOf(id))).toContain(
      "SELF_APPROVAL",
    );
    await approve(id);
    const watch = await meguri.run("bulk", "watch", id);
    expect(watch.code).toBe(1);
    if (isTerminal) expect(watch.stdout).toMatch(/█ 2 of 2 rows, 1 failed.*, DONE_WITH_FAILURES/);
    else expect(watch.stdout).toMatch(/\tDONE_WITH_FAILURES\t2\t1\t100\t1\t\S+\t\S+\n$/);
    const said = watch.stdout + watch.stderr;
    expect(said).toContain("failed: 1 × ACCOUNT_FROZEN\n");
    expect(said).toContain(`run these rows again: meguri bulk retry ${id}\n`);

    expect((await done("bulk", "rows", id, "--state", "FAILED")).split("\n")).toEqual(
      expect.arrayContaining([cells("^3", `${id}-b`, "50", "FAILED", "ACCOUNT_FROZEN")]),
    );
    expect(await done("bulk", "export-failed", id)).toContain(`"${id}-b","50"`);
    await server.points.unfreezeAccount({ userId: `${id}-b`, eventId: "unfreeze" });
    expect(await done("bulk", "retry", id)).toContain(`${id}: `);
    await done("bulk", "watch", id);
    expect(await done("bulk", "rows", id)).not.toContain("FAILED");
  });

  test("what a bulk grant has granted is listed, shown, audited and reversed", async () => {
    const id = `${mode}-spring`;
    const title = "夏の特典";
    await eventually(async () =>
      expect((await done("bulk", "list", "--state", "DONE")).split("\n")).toEqual(
        expect.arrayContaining([cells(`^${id}`, "DONE", "2", "150", "rin", "\\S+", "-", title)]),
      ),
    );
    expect((await done("bulk", "show", id)).split("\n")).toEqual(
      expect.arrayContaining([
        cells("title", title),
        cells("granted points", "150"),
        cells("1", "APPROVE", "mika", "-"),
        cells("1", "RETRY", "rin", "-"),
      ]),
    );
    const document = JSON.parse(await done("bulk", "show", id, "--json"));
    expect(document).toMatchObject({
      bulkGrant: { state: "STATE_DONE" },
      revisions: [{ revision: 1, title, totalPoints: "150" }],
      actions: [{ type: "TYPE_SUBMIT" }, { type: "TYPE_APPROVE" }, { type: "TYPE_RETRY" }],
    });
    expect(await done("bulk", "audit", id)).toContain(
      `"1","3","${id}-b","50","","","GRANTED","","3","50","mika"`,
    );

    const reverse = ["bulk", "reverse", `${id}-back`, id];
    if (isTerminal) {
      const asking = meguri.start(...reverse);
      await asking.printed("Take back up to 150 points? [y/N] ");
      asking.type("y\n");
      expect(await asking.done).toMatchObject({ code: 0 });
    } else {
      expect(await failed(2, ...reverse)).toContain("bulk reverse needs --force");
      expect(await done(...reverse, "--force")).toContain("2 rows, 150 points");
    }
    await awaiting(`${id}-back`, State.AWAITING_APPROVAL);
  });

  test("after an unfreeze the same sheet is checked again, and --wait follows it", async () => {
    const id = `${mode}-frozen`;
    const file = join(folder, `${id}.csv`);
    await writeFile(file, `${(await done("bulk", "template")).trim()}\n${id}-a,5,\n`);
    await server.points.freezeAccount({ userId: `${id}-a`, eventId: "freeze" });
    const submit = ["bulk", "submit", id, file];
    const wrong = await failed(1, ...submit, "--wait");
    expect(wrong).toContain(`line 2, ${id}-a: ACCOUNT_FROZEN: `);
    expect(wrong).toContain(`correct the sheet, then: meguri bulk submit ${id} SHEET\n`);

    await server.points.unfreezeAccount({ userId: `${id}-a`, eventId: "unfreeze" });
    const option = "--replaced-revision 1";
    expect(await failed(1, ...submit)).toContain(
      `not submitted: this is revision 1, which is INVALID; make it the next one with: ${option}\n`,
    );
    const following = meguri.start(...submit, ...option.split(" "), "--wait");
    await awaiting(id, State.AWAITING_APPROVAL);
    const digest = await digestOf(id);
    await server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId: id, digest });
    const { code, stdout, stderr } = await following.done;
    expect(code, stdout + stderr).toBe(0);
    expect(await done(...submit)).toContain("DONE, revision 2");
    const diff = await meguri.run("bulk", "diff", id);
    expect(diff.stdout + diff.stderr).toBe("from revision 1 to 2: 0 added, 0 removed, 0 changed\n");
  });

  test("a sheet that others have replaced is not submitted again by mistake", async () => {
    const id = `${mode}-replaced`;
    const sheets = ["a", "b"].map((user) => join(folder, `${mode}-${user}.csv`));
    for (const [i, sheet] of sheets.entries()) {
      await writeFile(sheet, `user_id,points\n ${id}-${i} ,5\n`);
      const { stdout, stderr } = await meguri.run("bulk", "check", id, sheet);
      expect(stdout + stderr).toContain("blanks taken away from user ids: 1");
      await done("bulk", "submit", id, sheet);
      await done("bulk", "cancel", id);
    }
    const [first = ""] = sheets;
    const again = await meguri.run("bulk", "submit", id, first);
    expect(again.code).toBe(1);
    const said = again.stdout + again.stderr;
    expect(said).toContain("not submitted: this was revision 1, which others have replaced");
    const [, option = ""] = /(--replaced-revision \d+)/.exec(said) ?? [];
    expect(await done("bulk", "submit", id, first, ...option.split(" "))).toContain("revision 3");
  });

  async function awaiting(bulkGrantId: string, state: State): Promise<void> {
    await eventually(async () => {
      const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
      expect(bulkGrant?.state).toBe(state);
    });
  }

  async function digestOf(bulkGrantId: string): Promise<string> {
    const { bulkGrant } = await server.bulkGrants.getBulkGrant({ bulkGrantId });
    return bulkGrant?.digest ?? "";
  }

  /** Approves as somebody else: by an answer on a terminal, and by the digest in a pipe. */
  async function approve(id: string): Promise<void> {
    const argv = ["bulk", "approve", id, "--caller", "mika"];
    if (isTerminal) {
      const asking = meguri.start(...argv);
      await asking.printed("? [y/N] ");
      asking.type("y\n");
      expect(await asking.done).toMatchObject({ code: 0 });
    } else {
      const message = await failed(2, ...argv);
      expect(message).toMatch(/^points of a row\t\d+ to \d+, median \d+$/m);
      const [, digest = ""] = message.match(/here it is (\S{43})$/m) ?? [];
      expect(await done(...argv, "--digest", digest)).toContain(`${id}: `);
    }
  }

  test("a bulk grant that is paused, resumed and cancelled, and one that is rejected", async () => {
    const later = `${mode}-later`;
    const file = join(folder, `${mode}-later.csv`);
    await writeFile(file, `user_id,points\n${later},1\n`);
    await done("bulk", "submit", later, file, "--at", "+1h", "--json");
    await awaiting(later, State.AWAITING_APPROVAL);
    await approve(later);
    expect(await done("bulk", "pause", later, "--reason", "wait")).toContain("APPROVED, paused");
    expect(await done("bulk", "resume", later)).toContain("APPROVED, revision 1");
    expect(await done("bulk", "cancel", later)).toContain("CANCELLED");
    expect(await failed(1, "bulk", "watch", later)).toContain("CANCELLED");

    await done("bulk", "submit", `${mode}-no`, file);
    await awaiting(`${mode}-no`, State.AWAITING_APPROVAL);
    expect(await done("bulk", "reject", `${mode}-no`)).toContain("REJECTED");
    expect(await failed(2, "bulk", "submit", "x", join(folder, "none.csv"))).toContain("ENOENT");
  });

  test("doctor", async () => {
    const { stdout, code } = await meguri.run("doctor");
    expect(stdout.split("\n").slice(0, -1)).toEqual([
      cells("^ok", "versions", "meguri \\d"),
      cells("^ok", "server http://127.0.0.1:\\d+", "is serving$"),
      cells("^ok", "contract", "the server and this command know the same methods$"),
      cells("^ok", "clock", "agrees with"),
      cells("^ok", "identity", "the caller rin is accepted$"),
    ]);
    expect(code).toBe(0);
  });

  test("completion", async () => {
    expect(await done("completion", "zsh")).toContain("meguri completion-server");
    expect(await done("help", "grant")).toContain("Usage: meguri grant [options] <user> <points>");
    expect(await failed(2, "completion", "csh")).toContain("Allowed choices are bash, zsh, fish");
  });

  test("every command was run above", () => {
    const run = meguri.history.map((argv) => argv.filter((text) => text !== "--json").join(" "));
    const missing = commandNames().filter((name) => !run.some((line) => line.startsWith(name)));
    expect(missing).toEqual([]);
  });
});

/** The names of all commands that are not groups, such as `bulk submit`. */
function commandNames(): string[] {
  const { stdin, stdout, stderr, env } = process;
  const { signal } = new AbortController();
  const program = createProgram({ stdin, stdout, stderr, env, signal }, () => async () => {});
  const visit = (command: Command, path: string): string[] => {
    const children = command.createHelp().visibleCommands(command);
    if (children.length === 0) return [path];
    const named = children.filter((child) => child.name() !== "help" || path === "");
    return named.flatMap((child) => visit(child as Command, `${path} ${child.name()}`.trim()));
  };
  return visit(program, "");
}
