/** Tests corrected sheets, which a pick-up takes as revisions of the same bulk grant. */
import type { WorkflowFailedError } from "@temporalio/client";
import type { ApplicationFailure } from "@temporalio/common";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PickUpResult } from "../../../src/bulk-grants/contract/sheet-sources.ts";
import { asService } from "../../../src/platform/words/caller.ts";
import { balances, comesTo, readBulk } from "../../support/fixtures/bulk-grants.ts";
import type { SourceFolder } from "../../support/fixtures/source-folder.ts";
import type { GoogleServer } from "../../support/servers/google-server.ts";
import type { SlackServer } from "../../support/servers/slack-server.ts";
import {
  addSpreadsheet,
  columns,
  needNoApproval,
  pickUp,
  type SourceStack,
  startSourceStack,
  urlOf,
} from "../../support/servers/source-stack.ts";
import type { WorkerStack } from "../../support/servers/worker.ts";

let sources: SourceStack;
let stack: WorkerStack;
let folder: SourceFolder;
let google: GoogleServer;
let slack: SlackServer;
let driveFolder: string;
beforeAll(async () => {
  sources = await startSourceStack();
  ({ stack, folder, google, slack, driveFolder } = sources);
  await needNoApproval(stack);
});
afterAll(() => sources.stop());

const linkOf = (id: string) => `https://drive.google.com/file/d/${id}/view?usp=drivesdk`;

describe.concurrent("pickUpSheets", () => {
  test("takes corrected files and exported sheets as revisions of one campaign", async () => {
    let run = 0;
    const dropped = async (name: string, lines: readonly string[], columns?: string) => {
      await folder.put(name, lines, columns);
      run += 1;
      return (await (await pickUp(stack, `corrections-${run}`)).result()) as PickUpResult;
    };
    const granted = (id: string) => comesTo(stack, id, "DONE");
    const wrong = ["fix-1,10", "fix-2,10", "fix-2,10"];
    await dropped("fix.csv", wrong);
    expect((await readBulk(stack, "fix")).bulkGrant.state).toBe("INVALID");
    // A corrected file of the same name, and then an exported sheet of another name.
    await dropped("fix.csv", ["fix-1,10", "fix-3,10"]);
    expect((await granted("fix")).revision.number).toBe(2);

    await dropped("more.csv", ["more-1,10", "more-1,20"]);
    await dropped("failed rows of more.csv", ["more-2,10,more"], "user_id,points,bulk_grant_id");
    expect((await granted("more")).revision).toMatchObject({ number: 2, rowCount: 1 });

    const messageOf = ({ failed: [file] }: PickUpResult) => `${file?.reason}: ${file?.message}`;
    expect(messageOf(await dropped("fix.csv", ["fix-1,10", "fix-3,10"]))).toBe(
      "WRONG_STATE: fix has granted this sheet already; another grant needs another name",
    );
    const message = slack.messages.findLast((text) => text.includes("nightly/fix.csv"));
    expect(message).toMatch(/`nightly\/fix.csv`: WRONG_STATE \(fix has granted .* name\)/);
    expect(message).toContain(
      " · Errors: nightly/failed/fix.errors.csv · Moved to: nightly/failed/fix",
    );
    expect(messageOf(await dropped("fix.csv", wrong))).toBe(
      "WRONG_STATE: revision 1 of fix had this content and was replaced",
    );
    expect(messageOf(await dropped("fix.csv", ["fix-9,10"]))).toMatch(/^WRONG_STATE: .*DONE/);
    expect(messageOf(await dropped("x.csv", ["x,10,a#b"], "user_id,points,bulk_grant_id"))).toMatch(
      /^INVALID_REQUEST: bulk_grant_id: .*; found `a#b`$/,
    );
    expect(await balances(stack, ["fix-1", "fix-3", "more-2"])).toEqual({ 10: 3 });
    expect(await balances(stack, ["fix-2", "fix-9", "more-1", "x"])).toEqual({ 0: 4 });
  });

  test("takes the spreadsheets of a Drive folder, and their corrections", async () => {
    const idsIn = (name: string) =>
      google.drive.foldersNamed(name, driveFolder).flatMap((id) => google.drive.namesIn(id));
    const spring = addSpreadsheet(sources, "4/春 2026", [
      ...columns,
      ["spring-1", 10],
      ["spring-1", 20],
    ]);
    const summer = addSpreadsheet(sources, "summer", [...columns, ["summer-1", 10]]);
    const chart = addSpreadsheet(sources, "chart", []);
    chart.addChart("Chart1");
    const file = { name: "file.csv", folderId: driveFolder, content: "user,points\nfile-1,10\n" };
    const fileId = google.drive.add(file);
    const secret = addSpreadsheet(sources, "secret", []);
    secret.share(false);
    google.drive.modify(addSpreadsheet(sources, "typing", columns).id);
    const first = (await (
      await pickUp(stack, "drive-1", "campaigns")
    )
      .result()
      .catch((error: WorkflowFailedError) => error.cause)) as ApplicationFailure;
    expect(first.type).toBe("PICK_UP_INCOMPLETE");
    const lines = first.message.split("\n").filter(Boolean);
    const tab = { spring: urlOf(spring.id, "#gid=1"), chart: urlOf(chart.id, "#gid=2") };
    expect(lines.map((line) => line.replace(/#[0-9a-f]{12}/, ""))).toEqual([
      "1 file submitted, 3 failed, 1 left.",
      ...Array(3).fill(expect.stringMatching(/^- campaigns\/(4\/春 2026|chart|file\.csv)/)),
      `- campaigns/secret: PERMISSION_DENIED (${urlOf(secret.id)} cannot be read: ` +
        "Google: The caller does not have permission)",
    ]);
    expect(first.message).toContain(`; errors in ${tab.spring}; moved to ${urlOf(spring.id)}`);
    expect(first.message).toContain(`; errors in ${tab.chart}; moved to ${urlOf(chart.id)}`);
    expect(idsIn("done")).toEqual(["summer"]);
    const failed = idsIn("failed");
    expect(failed.toSorted()).toEqual(["4/春 2026", "chart", "file.csv", "file.errors.csv"]);
    const errorsId = google.drive.idOf(
      "file.errors.csv",
      google.drive.foldersNamed("failed", driveFolder)[0] ?? "",
    );
    expect(first.message).toContain(`; errors in ${linkOf(errorsId)}; moved to ${linkOf(fileId)}`);
    expect(google.drive.contentOf(errorsId)).toContain('"COLUMN_UNKNOWN"');
    expect(await comesTo(stack, "summer", "DONE")).toMatchObject({
      revision: { submitter: asService("campaigns"), sourceUrl: urlOf(summer.id) },
    });

    const [, failedTab = ""] = spring.titles;
    expect(failedTab).toMatch(/^failed 4-春 2026-[0-9a-f]{12} r1$/);
    const id = failedTab.slice("failed ".length, -" r1".length);
    spring.setRows("Sheet1", [...columns, ["spring-1", 10]]);
    google.drive.moveTo(spring.id, driveFolder);
    google.drive.modify(spring.id, Date.now() - 3_600_000);
    google.drive.trash(secret.id);
    await (await pickUp(stack, "drive-2", "campaigns")).result();
    expect((await comesTo(stack, id, "DONE")).revision).toMatchObject({
      number: 2,
      title: "4/春 2026",
    });
    expect(await balances(stack, ["spring-1", "summer-1"])).toEqual({ 10: 2 });
    expect(google.drive.namesIn(driveFolder)).toEqual(["typing", "failed", "done"]);
  });
});
