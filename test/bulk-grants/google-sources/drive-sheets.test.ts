/** Spreadsheets in a Drive folder as sheets of a source, against Google's REST API on loopback. */
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDriveSource } from "../../../src/bulk-grants/google-sources/drive.ts";
import type { Source } from "../../../src/bulk-grants/sources/source.ts";
import { sheetOfErrors } from "../../support/fixtures/sheets.ts";
import { type GoogleServer, startGoogleServer } from "../../support/servers/google-server.ts";
import type { Cell } from "../../support/servers/google-spreadsheet.ts";

const rows: readonly (readonly Cell[])[] = [
  ["user_id", "points"],
  ["aoi", { value: 1000, shown: "1,000" }],
];
const csv = "user_id,points\naoi,1000\n";

let google: GoogleServer;
let folderId: string;
let source: Source;

beforeEach(async () => {
  google = await startGoogleServer();
  folderId = google.drive.addFolder("campaigns");
  source = openSource();
});
afterEach(() => google.close());

const openSource = (quiet_minutes?: number) =>
  createDriveSource({
    folder_id: folderId,
    key_file: google.keyFile,
    endpoint: google.endpoint,
    ...(quiet_minutes !== undefined && { quiet_minutes }),
  });
const add = (name: string, own: readonly (readonly Cell[])[] = rows) =>
  google.addSpreadsheet({ name, folderId, rows: own });
const newFiles = async () => (await source.listNew()).items;
const onlyNew = async () => {
  const files = await newFiles();
  expect(files).toHaveLength(1);
  return files[0] ?? { path: "", version: "" };
};
const paths = async () => (await newFiles()).map(({ path }) => path);
const namesIn = (name: string) =>
  google.drive.foldersNamed(name, folderId).flatMap((id) => google.drive.namesIn(id));
const refused = (reason: string, message: RegExp) =>
  expect.objectContaining({ reason, message: expect.stringMatching(message) });
const urlOf = (id: string, rest = "?usp=drivesdk") =>
  `https://docs.google.com/spreadsheets/d/${id}/edit${rest}`;

describe("a spreadsheet", () => {
  test("is new with the values of its first tab", async () => {
    const { id, addTab } = add("Spring 2026");
    addTab("notes", [["not read"]]);
    const file = await onlyNew();
    expect(file).toEqual({ path: "Spring 2026", version: expect.stringMatching(/^[0-9a-f]{12}$/) });
    const opened = await source.open(file);
    expect(await text(opened.csv)).toBe(csv);
    expect(opened.url).toBe(urlOf(id));
    expect(await text((await source.open({ path: "Spring 2026" })).csv)).toBe(csv);
  });

  test("is listed among files, folders, shortcuts and trash", async () => {
    google.drive.add({ name: "a.csv", folderId, content: csv });
    add("b");
    google.drive.addDocument("shortcut", "c", folderId);
    google.drive.add({ name: "d", folderId });
    google.drive.trash(add("e").id);
    google.drive.addFolder("f", folderId);
    add("g.csv");
    expect(await paths()).toEqual(["a.csv", "b", "g.csv"]);
  });

  test("is listed over pages of other files", async () => {
    for (let i = 0; i < 100; i++) google.drive.add({ name: `${i}.txt`, folderId, content: "x" });
    add("Spring");
    const first = await source.listNew();
    expect(first.items).toEqual([]);
    expect((await source.listNew(first.cursor)).items).toMatchObject([{ path: "Spring" }]);
  });

  test.each(["11/2026 'spring' \\ 春", "a/b/../c", "SPRING #1"])("is named %j", async (name) => {
    add(name);
    add(name.toLowerCase(), [["other"]]);
    const [file] = await newFiles();
    expect(file?.path).toBe(name);
    expect(await text((await source.open(file ?? { path: "" })).csv)).toBe(csv);
    await source.move(file ?? { path: "" }, "done");
    expect(namesIn("done")).toEqual([name]);
  });

  test("waits until nobody has changed it for five minutes, or as many as are set", async () => {
    const { id } = add("Spring");
    google.drive.modify(id, Date.now() - 240_000);
    expect(await paths()).toEqual([]);
    source = openSource(2);
    expect(await paths()).toEqual(["Spring"]);
    source = openSource(120);
    google.drive.modify(id, Date.now() - 3_600_000);
    expect(await paths()).toEqual([]);
  });

  test("that is formatted or renamed has the same version, and other values another", async () => {
    const spring = add("Spring");
    const { version } = await onlyNew();
    google.drive.modify(spring.id, Date.now() - 600_000);
    spring.setRows("Sheet1", [
      ["user_id", "points"],
      ["aoi", 1000],
    ]);
    google.drive.rename(spring.id, "Summer");
    expect(await onlyNew()).toEqual({ path: "Summer", version });
    spring.setRows("Sheet1", [["user_id", "points"]]);
    expect((await onlyNew()).version).not.toBe(version);
  });

  test("that changes after it was listed is neither read nor moved", async () => {
    const spring = add("Spring");
    const file = await onlyNew();
    spring.setRows("Sheet1", [...rows, ["ben", 1]]);
    const opening = source.open(file);
    await expect(opening).rejects.toMatchObject({ metadata: { field: "source" } });
    expect(await source.move(file, "done")).toBeUndefined();
    expect(await paths()).toEqual(["Spring"]);
  });

  test("is moved as it is, and keeps its address", async () => {
    const { id, titles } = add("Spring");
    const place = await source.move(await onlyNew(), "done");
    expect(place).toEqual({ name: "done/Spring", url: urlOf(id) });
    expect(namesIn("done")).toEqual(["Spring"]);
    expect(titles).toEqual(["Sheet1"]);
    expect(await newFiles()).toEqual([]);
  });

  test("of the name of another one is told by its values", async () => {
    add("Spring");
    add("Spring", [...rows, ["ben", 1]]);
    const [first, second] = await newFiles();
    expect(await text((await source.open(second ?? { path: "" })).csv)).toBe(`${csv}ben,1\n`);
    await expect(source.open({ path: "Spring" })).rejects.toEqual(
      refused("INVALID_REQUEST", /several files Spring/),
    );
    await source.move(first ?? { path: "" }, "done");
    expect(await onlyNew()).toEqual(second);
  });

  test("is read up to the row that shows that there are too many", async () => {
    add("Summer", Array<Cell[]>(200_100).fill(["aoi", 1]));
    const { csv: large } = await source.open({ path: "Summer" });
    expect((await text(large)).split("\n")).toHaveLength(200_003);
  });

  test("is read from the first tab that people see", async () => {
    const { hide, addTab } = add("Spring", [["hidden"]]);
    addTab("Sheet2", rows);
    hide("Sheet1");
    expect(await text((await source.open(await onlyNew())).csv)).toBe(csv);
  });
});

describe("a bad spreadsheet holds up no other one:", () => {
  /** Lists the bad one and a good one, and expects the refusal of the bad one. */
  const expectRefused = async (reason: string, message: RegExp) => {
    add("good");
    const [bad, good] = await newFiles();
    expect(good?.path).toBe("good");
    await expect(source.open(bad ?? { path: "" })).rejects.toEqual(refused(reason, message));
    return bad ?? { path: "" };
  };

  test("one whose first tab is a chart, which is moved", async () => {
    const { addChart } = add("bad");
    addChart("Chart1");
    const bad = await expectRefused("INVALID_REQUEST", /^the first tab of bad has no cells$/);
    await source.move(bad, "failed");
    expect(namesIn("failed")).toEqual(["bad"]);
  });

  test("one that the service account may not read, until it may", async () => {
    const { share } = add("bad");
    share(false);
    const bad = await expectRefused(
      "PERMISSION_DENIED",
      /^https:.*\/edit\?usp=drivesdk cannot be read: Google: The caller does not have permission$/,
    );
    share(true);
    await expect(source.open(bad)).rejects.toMatchObject({ metadata: { field: "source" } });
    expect(await text((await source.open({ path: "bad" })).csv)).toBe(csv);
  });

  test("one for which Google has no answer, which is tried again", async () => {
    const { id } = add("bad");
    add("good");
    const line = new RegExp(`GET /v4/spreadsheets/${id}$`);
    for (let i = 0; i < 4; i++) google.failNext({ line, status: 500 });
    const [bad, good] = await newFiles();
    expect(good?.path).toBe("good");
    for (let i = 0; i < 4; i++) google.failNext({ line, status: 500 });
    await expect(source.open(bad ?? { path: "" })).rejects.toMatchObject({ status: 500 });
  });

  test("one for which Google asks for fewer requests, which is read a little later", async () => {
    add("Spring");
    google.failNext({ line: /^GET \/v4\/.*\/values\//, status: 429 });
    expect(await text((await source.open(await onlyNew())).csv)).toBe(csv);
  });

  test("one without rows, which is read as nothing", async () => {
    add("empty", []);
    expect(await text((await source.open(await onlyNew())).csv)).toBe("");
  });
});

describe("errors are a tab of the spreadsheet,", () => {
  const written = [["user_id"], ["u-1"]];

  test("wherever it is by then", async () => {
    const { id, rowsOf, titles } = add("Spring");
    const { url } = await source.open(await onlyNew());
    await source.move(await onlyNew(), "done");
    google.drive.rename(id, "Summer");
    const place = await source.writeErrors({ path: "Spring", url }, sheetOfErrors(["u-1"]));
    expect(place).toEqual({ name: "Spring/failed b r1", url: urlOf(id, "#gid=1") });
    expect(rowsOf("failed b r1")).toEqual(written);
    expect(titles).toEqual(["Sheet1"]);
  });

  test("and leave its version as it is, so that it can be moved", async () => {
    const { rowsOf } = add("Spring");
    const file = await onlyNew();
    await source.writeErrors(file, sheetOfErrors(["u-1"]));
    await source.writeErrors(file, sheetOfErrors(["u-1"]));
    expect(rowsOf("failed b r1")).toEqual(written);
    expect(await source.move(file, "failed")).toMatchObject({ name: "failed/Spring" });
    expect(namesIn("failed")).toEqual(["Spring"]);
  });

  test("and are read when a person makes that the first tab", async () => {
    const { id, moveFirst } = add("Spring");
    await source.writeErrors(await onlyNew(), sheetOfErrors(["u-1"]));
    moveFirst("failed b r1");
    google.drive.modify(id, Date.now() - 3_600_000);
    expect(await text((await source.open(await onlyNew())).csv)).toBe("user_id\nu-1\n");
  });
});
