/** Runs every command of `meguri bulk` as commands.test.ts does those of everything else. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BulkGrant_State as State } from "../../src/gen/meguri/bulkgrants/v1/bulk_grant_pb.ts";
import { eventually } from "../support/fixtures/waiting.ts";
import { inlineRows, workbookOf } from "../support/fixtures/workbooks.ts";
import { type CommandLine, startCommandLine } from "../support/servers/cli.ts";
import {
  type CliStack,
  expectations,
  type Mode,
  modes,
  startCliStack,
} from "../support/servers/cli-stack.ts";

let folder: string;
let stack: CliStack;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "meguri-cli-test-"));
  stack = await startCliStack();
});
afterAll(async () => {
  await stack?.stop();
  await rm(folder, { recursive: true, force: true });
});

function testCommands(mode: Mode): void {
  const isTerminal = mode === "terminal";
  let meguri: CommandLine;
  beforeAll(async () => {
    meguri = await startCommandLine(mode, stack.env);
  });
  afterAll(() => meguri?.close());
  const { done, failed, cells, expectAllRun } = expectations(mode, () => meguri);

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
    const book = join(folder, `${mode}.xlsx`);
    const rows = inlineRows(["user_id", "points"], [`${id}-a`, "100"], [`${id}-b`, "50"]);
    await writeFile(book, workbookOf({ rows }));
    expect((await meguri.run("bulk", "digest", id, book)).code).toBe(0);
    expect((await meguri.run("bulk", "check", id, book)).code).toBe(0);
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
    await stack.server.points.freezeAccount({ userId: `${id}-b`, eventId: "freeze" });
    expect(await failed(1, "bulk", "approve", id, "--digest", await digestOf(id))).toContain(
      "SELF_APPROVAL",
    );
    await approve(id);
    const watch = await meguri.run("bulk", "watch", id);
    expect(watch.code).toBe(1);
    if (isTerminal) expect(watch.stdout).toMatch(/█ 2 of 2 rows, 1 failed.*, DONE_WITH_FAILURES/);
    else expect(watch.stdout).toMatch(/\tDONE_WITH_FAILURES\t2\t1\t100\t1\t\S+\t\S+\n$/);
    const said = watch.stdout + watch.stderr;
    expect(said).toContain("Done, and rows failed: 1 × ACCOUNT_FROZEN.\n");
    expect(said).toContain(`Run these rows again: meguri bulk retry ${id}\n`);

    expect((await done("bulk", "rows", id, "--state", "FAILED")).split("\n")).toEqual(
      expect.arrayContaining([cells("^3", `${id}-b`, "50", "FAILED", "ACCOUNT_FROZEN")]),
    );
    expect(await done("bulk", "export-failed", id)).toContain(`"${id}-b","50"`);
    await stack.server.points.unfreezeAccount({ userId: `${id}-b`, eventId: "unfreeze" });
    expect(await done("bulk", "retry", id)).toContain(`${id}: `);
    await done("bulk", "watch", id);
    expect(await done("bulk", "rows", id)).not.toContain("FAILED");
  });

  test("what a bulk grant has granted is listed, shown, audited and reversed", async () => {
    const id = `${mode}-spring`;
    const title = "夏の特典";
    await eventually(async () =>
      expect((await done("bulk", "list", "--state", "DONE")).split("\n")).toEqual(
        expect.arrayContaining([
          cells(`^${id}`, "DONE", "2", "150", "rin", "\\S+", title, "Done: each row was granted."),
        ]),
      ),
    );
    const noReason = isTerminal ? [] : ["-"];
    expect((await done("bulk", "show", id)).split("\n")).toEqual(
      expect.arrayContaining([
        cells("title", title),
        cells("granted points", "150"),
        cells("1", "APPROVE", "mika", ...noReason),
        cells("1", "RETRY", "rin", ...noReason),
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
      await asking.printed(`Take back up to 150 points of ${title}? [y/N] `);
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
    await stack.server.points.freezeAccount({ userId: `${id}-a`, eventId: "freeze" });
    const submit = ["bulk", "submit", id, file];
    const wrong = await failed(1, ...submit, "--wait");
    expect(wrong).toContain(`line 2, ${id}-a: ACCOUNT_FROZEN: `);
    expect(wrong).toContain(`Submit a corrected sheet: meguri bulk submit ${id} SHEET\n`);

    await stack.server.points.unfreezeAccount({ userId: `${id}-a`, eventId: "unfreeze" });
    const option = "--replaced-revision 1";
    const again = await failed(1, ...submit);
    expect(again).toContain("not submitted: this is revision 1, which is INVALID\n");
    expect(again).toContain(`Or the same one again: meguri bulk submit ${id} SHEET ${option}\n`);
    const following = meguri.start(...submit, ...option.split(" "), "--wait");
    await awaiting(id, State.AWAITING_APPROVAL);
    const digest = await digestOf(id);
    await stack.server.clientsOf("mika").bulkGrants.approveBulkGrant({ bulkGrantId: id, digest });
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
      const { bulkGrant } = await stack.server.bulkGrants.getBulkGrant({ bulkGrantId });
      expect(bulkGrant?.state).toBe(state);
    });
  }

  async function digestOf(bulkGrantId: string): Promise<string> {
    const { bulkGrant } = await stack.server.bulkGrants.getBulkGrant({ bulkGrantId });
    return bulkGrant?.digest ?? "";
  }

  /** Approves as somebody else: by an answer on a terminal, and by the digest in a pipe. */
  async function approve(id: string): Promise<void> {
    const argv = ["bulk", "approve", id, "--caller", "mika"];
    if (isTerminal) {
      const asking = meguri.start(...argv);
      await asking.printed("? [y/N] ");
      asking.type("y\n");
      await asking.printed("Note, or Enter: ");
      asking.type("\n");
      expect(await asking.done).toMatchObject({ code: 0 });
    } else {
      const message = await failed(2, ...argv);
      expect(message).toMatch(/^(points of a row\t\d+ to \d+, median \d+|request\tGrant .*)$/m);
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
    const reject = ["bulk", "reject", `${mode}-no`];
    if (!isTerminal) expect(await failed(2, ...reject)).toContain("bulk reject needs --reason");
    expect(await done(...reject, "--reason", "wrong month")).toContain("REJECTED");
    expect(await failed(2, "bulk", "submit", "x", join(folder, "none.csv"))).toContain("ENOENT");
  });

  test("points, and the revoke of a grant, are requested, shown and approved", async () => {
    const [id, user] = [`${mode}-request`, `${mode}-aoi`];
    const request = [
      "grant",
      user,
      "500",
      "--request",
      "--event-id",
      id,
      "--reason",
      "late parcel",
    ];
    const asked = await meguri.run(...request);
    expect(asked.code).toBe(0);
    expect(asked.stdout).toContain(`${id}: VALIDATING, revision 1, Grant 500 points to ${user}\n`);
    await awaiting(id, State.AWAITING_APPROVAL);
    // A terminal has the last columns below the others.
    const list = await done("bulk", "list", "--state", "AWAITING_APPROVAL");
    expect(list.replaceAll("\n  ", "  ")).toEqual(
      cells(id, "AWAITING_APPROVAL", "1", "500", "rin", "\\S+", `Grant 500 points to ${user}`),
    );
    expect((await done("bulk", "show", id)).split("\n")).toEqual(
      expect.arrayContaining([
        cells("request", `Grant 500 points to ${user}`),
        cells("reason", "late parcel"),
      ]),
    );
    await approve(id);
    await done("bulk", "watch", id);
    expect(await done("balance", user)).toEqual(cells("available", "500"));
    const again = await meguri.run(...request);
    expect(again.stdout + again.stderr).toContain("replayed: ");
    expect(await failed(1, ...request.with(2, "501"))).toContain("ID_REUSED");

    const back = ["revoke", user, `${id}_${user}`, "--origin", "bulk", "--request"];
    const answer = JSON.parse(await done(...back, "--event-id", `${id}-back`, "--json"));
    expect(answer.bulkGrant.request).toMatchObject({ operation: "OPERATION_REVOKE", userId: user });
    await awaiting(`${id}-back`, State.AWAITING_APPROVAL);
    const file = join(folder, `${id}.csv`);
    await writeFile(file, `user_id,points\n${user},500\n`);
    const digest = await meguri.run("bulk", "digest", `${id}-back`, file);
    expect(digest).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(await digestOf(`${id}-back`)),
    });
    await done("bulk", "reject", `${id}-back`, "--reason", "kept");
    const refused = await failed(1, ...back, "--event-id", `${id}-back`);
    expect(refused).toContain("not submitted: this is revision 1, which is REJECTED");
    expect(refused).toContain(
      `Request it again: meguri revoke ${user} ${id}_${user} --request --origin=bulk\n`,
    );
    expect(await failed(2, ...back, "--dry-run")).toContain("--dry-run");
  });

  test("every command of bulk grants was run above", () => {
    expectAllRun((name) => name.startsWith("bulk "));
  });
}

describe.concurrent.each(modes)("in a %s", (mode) => {
  describe("one command after the other", { concurrent: false }, () => testCommands(mode));
});
