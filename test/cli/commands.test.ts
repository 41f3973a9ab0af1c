/**
 * Runs every command of `meguri` but those of bulk grants against a running stack with a worker, in
 * a pipe and in a pseudo-terminal.
 */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Reservation_State } from "../../src/gen/meguri/reservations/v1/reservation_pb.ts";
import { failReservation } from "../support/fixtures/failed-reservation.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { type CommandLine, startCommandLine } from "../support/servers/cli.ts";
import {
  type CliStack,
  expectations,
  type Mode,
  modes,
  startCliStack,
} from "../support/servers/cli-stack.ts";

let stack: CliStack;
beforeAll(async () => {
  stack = await startCliStack();
});
afterAll(() => stack?.stop());

function testCommands(mode: Mode): void {
  const isTerminal = mode === "terminal";
  const user = `${mode}-user`;
  let meguri: CommandLine;
  beforeAll(async () => {
    meguri = await startCommandLine(mode, stack.env);
  });
  afterAll(() => meguri?.close());
  const { done, failed, cells, expectAllRun } = expectations(mode, () => meguri);

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
    const past = await done("balance", user, "--as-of", "2020-01-01T00:00Z");
    expect(past).toMatch(/^available\s+0$/m);
    expect(past).not.toContain("final");
    const recent = new Date(Date.now() - 60_000).toISOString();
    expect(await done("balance", "nobody", "--as-of", recent)).toContain("This is not final");
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
    expect(await done("ledger", "grep", join(stack.exports.path, "default", mode))).toBe("");
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
    // Of its own, because two verifications of one program wait for each other.
    const own = ["--program", `${mode}-verified`];
    await done("program", "create", `${mode}-verified`);
    await done("grant", user, "5", ...own);
    const program = await meguri.run("verify", ...own);
    expect(program.stdout + program.stderr).toContain(`${mode}-verified: DONE, 1 account compared`);
    expect(program.code).toBe(0);
    const repaired = await meguri.run("verify", "--repair", ...own);
    expect(repaired.stdout + repaired.stderr).toContain(
      `${mode}-verified: DONE, 1 account compared, 0 differed, 0 repaired, 0 could not`,
    );
    expect(repaired.code).toBe(0);
  });

  test("liability reports", async () => {
    const id = `${mode}-report`;
    // Of its own, because the other mode holds points in `default`.
    const owner = `${mode}-owing`;
    const own = ["--program", owner];
    const since = ["--since", "2020-01-01T00:00Z", ...own];
    await done("program", "create", owner);
    await done("grant", `${user}-owed`, "7", ...own);
    const name = `liability report ${id} of ${owner} as of`;
    expect(await done("liability", "create", id, ...since)).toContain(`RUNNING: ${name} `);
    const again = await done("liability", "create", id, ...since);
    expect(again).toContain("replayed: it existed already");
    const shown = await eventually(() => done("liability", "show", id, ...own));
    expect(shown.split("\n")).toEqual(
      expect.arrayContaining([
        cells("^outstanding_points", "\\d+"),
        cells("^refunded_points", "\\d+$"),
      ]),
    );
    const csv = await done("liability", "show", id, "--csv", ...own);
    const [head, ...rows] = csv.split(/\r?\n/);
    expect(head).toBe("item,value,month,expire_time");
    expect(rows[0]).toMatch(/^outstanding_points,\d+,,$/);
    expect(rows[1]).toBe("still_held_points,0,,");
    expect(csv).toMatch(/^bucket,\d+,\d{4}-\d\d,\d{4}-\d\d-\d\dT\d\d:00:00.000Z\r?$/m);
    const lines = (await done("liability", "list", ...own)).split("\n");
    expect(lines).toEqual(expect.arrayContaining([cells(`^${id}`, "DONE", "\\S+", "2020-01-01T")]));
    expect(await failed(3, "liability", "show", "no", ...own)).toContain("JOB_NOT_FOUND");
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
    const past = ["reserve", user, "1", "--at", "1970-01-21T17:00Z", "--reservation-id", `${id}-p`];
    expect(await failed(1, ...past)).toContain(
      "seconds taken for milliseconds are in January 1970",
    );
    expect(await done(...past, "--allow-past", "--dry-run")).toContain("PROCESSING: 1 point for");
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
    const { reservation: made } = await stack.server.reservations.getReservation({
      reservationId: `${id}-early`,
    });
    expect(made?.expiry).toEqual({ case: "expireAfterMonths", value: 3 });
    expect(await failed(2, ...early, "--expire-after", "x")).toContain("a whole number");
    const both = ["--expire-after", "3", "--expire-month", "2031-01"];
    expect(await failed(2, ...early, ...both)).toContain("cannot be used with");
    const failing = { programId: "default", reservationId: `${id}-2`, userId: `${user}-frozen` };
    await failReservation(stack.server, failing);
    expect(await done("reservation", "show", failing.reservationId)).toContain("ACCOUNT_FROZEN");
    expect(await done("reservation", "retry", failing.reservationId)).toContain("10 points for");
    await eventually(async () => {
      const { reservation } = await stack.server.reservations.getReservation(failing);
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
    await stack.server.reactions.registerTarget({
      targetName: target,
      ownerId: user,
      title: "a post",
    });
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
    await stack.server.reactions.react({ targetName: target, userId: "cho", displayName: "Cho" });
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
    expect(await done("notification", "read-all", owner)).toBe("1 read; 0 unread\n");
    expect(await done("notification", "read-all", "nobody")).toBe("0 read; 0 unread\n");
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
    await stack.server.reactions.registerTarget({ targetName, ownerId: owner, title: "a post" });
    await stack.server.notifications.setTargetMuted({ ownerId: owner, targetName, muted: true });
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
    const update = ["program", "update", id, "--lifetime-months", "36", ...notices];
    expect(await done(...update, "--reason", "loyalty")).toEqual(
      expect.stringMatching(
        `^rules of ${id}: change 1 is PROPOSED, 0 of 1 approval, the last one from \\S+ on\n$`,
      ),
    );
    expect(await done("program", "rules", id)).toMatch(
      /1.*PROPOSED.*loyalty.*"lifetimeMonths":24,"notices":\{"expiryDays":0,.*"lifetimeMonths":36,/,
    );
    expect((await done("program", "list")).split("\n")).toEqual(
      expect.arrayContaining([cells(`^${id}`, "Asia/Tokyo", "24")]),
    );
    expect(await failed(2, "program", "update", id, "--notices", "{")).toContain("--notices");
    expect(await failed(2, "program", "update", id)).toContain("needs a field to change");
    expect(await failed(1, "program", "update", id, "--lifetime-months", "0")).toContain(
      "--lifetime-months: ",
    );
    expect(await failed(3, "balance", user, "--program", "none")).toContain("PROGRAM_NOT_FOUND");
    const rules = ["--bulk-rules", '{"maxPointsPerRow": "7"}'];
    const replace = ["program", "update", id, ...rules];
    expect(await failed(1, ...replace)).toContain("ETAG_MISMATCH: change 1 of the rules waits");
    const { program: read } = await stack.server.programs.getProgram({ programId: id });
    expect(await done(...replace, "--etag", read?.etag ?? "")).toBe(
      `rules of ${id}: change 2 is PROPOSED, 0 of 1 approval\n`,
    );
    const { program } = await stack.server.programs.getProgram({ programId: id });
    const digest = program?.rulesChange?.digest ?? "";
    const approve = ["program", "approve", id, "--digest", digest];
    expect(await failed(1, ...approve)).toContain("SELF_APPROVAL");
    expect(await done(...approve, "--caller", "mika")).toContain("change 2 is IN_FORCE");
    expect(await failed(1, "program", "reject", id, "--digest", digest)).toContain("WRONG_STATE");
    expect(await done("program", "rules", id)).toMatch(/2.*IN_FORCE.*mika.*"maxPointsPerRow":"7"/);
    expect(await failed(4, "program", "list", "--caller", "a#b")).toContain("UNAUTHENTICATED");
    const log = await done("log", "--since", "yesterday", "-p", id);
    expect(log).toMatch(/rin.*CALL.*UpdateProgram.*proposed_lifetime_months: 24 → 36.*loyalty/);
    const byMika = await done("log", "--since", "today", "--by", "mika", "-p", id);
    expect(byMika).toMatch(/mika.*ApproveRulesChange.*PROPOSED → IN_FORCE/);
    expect(byMika).not.toContain("UpdateProgram");
    expect(await failed(2, "log", "-p", id)).toContain("--since");
    expect(await failed(2, "log", "--since", "soon", "-p", id)).toContain("a time with its zone");
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
      (await stack.server.reservations.getReservation({ reservationId })).reservation?.state;

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
    const tried = await done(...ofUser, "--dry-run", "--force");
    expect(tried).toBe(`would cancel ${found}`);
    expect(await Promise.all(ids.map(stateOf))).not.toContain(Reservation_State.CANCELLED);

    const window = ["--since", "2030-12-24T00:00Z", "--until", "2030-12-24T01:00Z"];
    const ofReason = ["reservation", "cancel-many", "--reason-prefix", `${mode} sa`, ...window];
    expect(await done(...ofReason, "--reason", "over", "--force")).toBe(`cancelled ${found}`);
    for (const reservationId of ids) {
      const { reservation } = await stack.server.reservations.getReservation({ reservationId });
      const lastChange = { caller: { service: "rin" }, reason: "over" };
      expect(reservation).toMatchObject({ state: Reservation_State.CANCELLED, lastChange });
    }
    expect(await failed(2, "reservation", "cancel-many")).toContain("--user or --reason-prefix");
    expect(await failed(2, ...ofUser, ...window)).toContain("belong to --reason-prefix");
    expect(await failed(2, ...ofReason.slice(0, 4))).toContain("needs --since and --until");
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

  test("events tail", async () => {
    expect(await done("events", "tail", "--no-follow", "--since", "1h")).toBe("");
  });

  test("completion", async () => {
    expect(await done("completion", "zsh")).toContain("meguri completion-server");
    expect(await done("help", "grant")).toContain("Usage: meguri grant [options] <user> <points>");
    expect(await failed(2, "completion", "csh")).toContain("Allowed choices are bash, zsh, fish");
  });

  test("every command was run above, but those of bulk grants", () => {
    expectAllRun((name) => !name.startsWith("bulk "));
  });
}

describe.concurrent.each(modes)("in a %s", (mode) => {
  describe("one command after the other", { concurrent: false }, () => testCommands(mode));
});
