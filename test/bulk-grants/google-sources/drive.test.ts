/** A Drive folder as a source of rows, against Google's REST API on loopback. */
import { createHash } from "node:crypto";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDriveSource } from "../../../src/bulk-grants/google-sources/drive.ts";
import type { Source } from "../../../src/bulk-grants/sources/source.ts";
import { sheetOfErrors } from "../../support/fixtures/sheets.ts";
import { type GoogleServer, startGoogleServer } from "../../support/servers/google-server.ts";

const csv = "user_id,points\naoi,100\n";
const versionOf = (content: string) =>
  createHash("sha256").update(content).digest("hex").slice(0, 12);

let google: GoogleServer;
let folderId: string;
let source: Source;

beforeEach(async () => {
  google = await startGoogleServer();
  folderId = google.drive.addFolder("campaigns");
  source = openSource();
});
afterEach(() => google.close());

const openSource = () =>
  createDriveSource({
    folder_id: folderId,
    key_file: google.keyFile,
    endpoint: google.endpoint,
  });
const newFiles = async () => (await source.listNew()).items;
const add = (name: string, content: string) => google.drive.add({ name, folderId, content });
const read = async (path: string, version?: string) =>
  text((await source.open({ path, ...(version !== undefined && { version }) })).csv);
const namesIn = (name: string) =>
  google.drive.foldersNamed(name, folderId).map((id) => google.drive.namesIn(id));
const hasCode = (reason: string) => expect.objectContaining({ reason });

test("the new files are those of sheets directly in the folder, with their versions", async () => {
  const other = google.drive.addFolder("other", folderId);
  add("spring.csv", csv);
  add("SUMMER.CSV", `${csv}ben,5\n`);
  add("notes.txt", "no sheet");
  google.drive.add({ name: "document.csv", folderId });
  google.drive.add({ name: "below.csv", folderId: other, content: csv });
  google.drive.trash(add("deleted.csv", csv));
  expect(await newFiles()).toEqual([
    { path: "spring.csv", version: versionOf(csv) },
    { path: "SUMMER.CSV", version: versionOf(`${csv}ben,5\n`) },
  ]);
});

test("a workbook is a file, too, once nobody has changed it for a while", async () => {
  const id = add("Spring 2027.xlsx", "PK");
  add("~$Spring 2027.xlsx", "opened");
  google.drive.modify(id);
  expect(await newFiles()).toEqual([]);
  google.drive.modify(id, Date.now() - 3_600_000);
  expect(await newFiles()).toEqual([{ path: "Spring 2027.xlsx", version: versionOf("PK") }]);
  expect(await read("Spring 2027.xlsx", versionOf("PK"))).toBe("PK");
});

test("a file that may not be downloaded is refused, too many calls are not", async () => {
  add("spring.xlsx", "PK");
  const line = /GET .*\/file-/;
  google.failNext({ line, status: 403, reason: "cannotDownloadFile" });
  await expect(read("spring.xlsx")).rejects.toMatchObject({
    ...{ reason: "PERMISSION_DENIED", message: expect.stringMatching(/read: Google: failed$/) },
  });
  google.failNext({ line, status: 403, reason: "rateLimitExceeded" });
  expect(await read("spring.xlsx")).toBe("PK");
  for (let i = 0; i < 4; i++) {
    google.failNext({ line, status: 403, reason: "userRateLimitExceeded" });
  }
  await expect(read("spring.xlsx")).rejects.toMatchObject({ status: 429 });
  google.failNext({ line, status: 404, reason: "notFound" });
  await expect(read("spring.xlsx")).rejects.toMatchObject({ status: 404 });
  expect(await read("spring.xlsx")).toBe("PK");
});

test("files are listed page by page, over pages without any", async () => {
  for (let i = 0; i < 150; i++) add(`notes-${i}.txt`, "no sheet");
  for (let i = 0; i < 103; i++) add(`sheet-${i}.csv`, csv);
  const first = await source.listNew();
  expect(first.items).toEqual([]);
  const second = await source.listNew(first.cursor);
  const third = await source.listNew(second.cursor);
  expect(second.items).toHaveLength(50);
  expect([...second.items, ...third.items].map(({ path }) => path)).toEqual(
    Array.from({ length: 103 }, (_, i) => `sheet-${i}.csv`),
  );
  expect(third.cursor).toBeUndefined();
  expect(google.requests.filter((line) => line === "GET /drive/v3/files")).toHaveLength(3);
});

test("a file is streamed by its name", async () => {
  add("it's a \\ of 花.csv", csv);
  add("IT'S A \\ OF 花.csv", "another");
  expect(await read("it's a \\ of 花.csv")).toBe(csv);
});

test("a file of several MB comes whole", async () => {
  const large = `user_id,points\n${"aoi,100\n".repeat(1_000_000)}`;
  add("large.csv", large);
  expect((await read("large.csv", versionOf(large))).length).toBe(large.length);
});

test("a file that is cut off on the way is an error", async () => {
  add("spring.csv", csv);
  google.failNext({ line: /GET .*\/file-/, isCutOff: true });
  await expect(read("spring.csv")).rejects.toThrow();
});

test("files of one name are distinguished by their version", async () => {
  add("spring.csv", csv);
  add("spring.csv", `${csv}ben,5\n`);
  expect(await read("spring.csv", versionOf(csv))).toBe(csv);
  expect(await read("spring.csv", versionOf(`${csv}ben,5\n`))).toBe(`${csv}ben,5\n`);
  await expect(read("spring.csv")).rejects.toEqual(hasCode("INVALID_REQUEST"));
});

test.each(["missing.csv", "notes.txt", "../spring.csv"])("%s cannot be opened", async (path) => {
  add("spring.csv", csv);
  add("notes.txt", csv);
  await expect(read(path)).rejects.toEqual(hasCode("INVALID_REQUEST"));
});

test("a file whose content has changed is refused", async () => {
  const id = add("spring.csv", csv);
  const [listed] = await newFiles();
  google.beforeNext(/GET .*\/file-/, () => google.drive.replaceContent(id, `${csv}ben,5\n`));
  await expect(read("spring.csv", listed?.version)).rejects.toEqual(hasCode("INVALID_REQUEST"));
  await expect(read("spring.csv", listed?.version)).rejects.toEqual(hasCode("INVALID_REQUEST"));
});

test("a file is moved to a folder, which is made when it is missing", async () => {
  add("spring.csv", csv);
  add("summer.csv", csv);
  add("broken.csv", csv);
  await source.move({ path: "spring.csv", version: versionOf(csv) }, "done");
  await source.move({ path: "summer.csv" }, "done");
  await source.move({ path: "broken.csv" }, "failed");
  expect(namesIn("done")).toEqual([["spring.csv", "summer.csv"]]);
  expect(namesIn("failed")).toEqual([["broken.csv"]]);
  expect(await newFiles()).toEqual([]);
});

test("files that are moved at once make the folder once", async () => {
  const names = Array.from({ length: 8 }, (_, i) => `sheet-${i}.csv`);
  for (const name of names) add(name, `user_id,points\n${name},1\n`);
  await Promise.all(names.map((path) => source.move({ path }, "done")));
  expect(namesIn("done").map((files) => files.toSorted())).toEqual([names]);
});

test("a move keeps a file of the same name that is in the folder already", async () => {
  add("spring.csv", csv);
  await source.move({ path: "spring.csv" }, "done");
  add("spring.csv", csv);
  await source.move({ path: "spring.csv" }, "done");
  expect(namesIn("done")).toEqual([["spring.csv", "spring.csv"]]);
});

test("a move takes all files of one name and content, and none of another content", async () => {
  add("spring.csv", csv);
  add("spring.csv", csv);
  add("spring.csv", `${csv}ben,5\n`);
  expect(await newFiles()).toHaveLength(2);
  await source.move({ path: "spring.csv", version: versionOf(csv) }, "done");
  expect(await newFiles()).toEqual([{ path: "spring.csv", version: versionOf(`${csv}ben,5\n`) }]);
});

test("a file that is not there any more needs no move", async () => {
  await source.move({ path: "spring.csv" }, "done");
  expect(google.drive.namesIn(folderId)).toEqual([]);
});

test("two pick-ups that overlap move each file once", async () => {
  const names = Array.from({ length: 5 }, (_, i) => `sheet-${i}.csv`);
  for (const name of names) add(name, csv);
  const other = openSource();
  const pickUp = async (one: Source) => {
    for (const file of (await one.listNew()).items) await one.move(file, "done");
  };
  await Promise.all([pickUp(source), pickUp(other)]);
  expect(namesIn("done").flat().sort()).toEqual(names);
  expect(await newFiles()).toEqual([]);
});

test("pick-ups that made the folder twice go on with the older one", async () => {
  add("spring.csv", csv);
  const make = () => google.drive.addFolder("done", folderId);
  google.beforeNext(/^POST \/drive\/v3\/files$/, make);
  await source.move({ path: "spring.csv" }, "done");
  expect(namesIn("done")).toEqual([["spring.csv"], []]);
});

test("a move whose answer was lost has succeeded", async () => {
  add("spring.csv", csv);
  google.failNext({ line: /^PATCH/, status: 503, isExecuted: true });
  await source.move({ path: "spring.csv" }, "done");
  expect(namesIn("done")).toEqual([["spring.csv"]]);
});

test("a move that was not made fails, and succeeds later", async () => {
  add("spring.csv", csv);
  google.failNext({ line: /^PATCH/, status: 503 });
  await expect(source.move({ path: "spring.csv" }, "done")).rejects.toThrow("Google: failed");
  await source.move({ path: "spring.csv" }, "done");
  expect(namesIn("done")).toEqual([["spring.csv"]]);
});

test("a folder that is not shared with the service account is no refusal", async () => {
  folderId = "not-shared";
  const reading = openSource().listNew();
  await expect(reading).rejects.toEqual(expect.objectContaining({ status: 404 }));
});

test("people find a file at its own address, also after its move", async () => {
  const id = add("spring.csv", csv);
  const url = `https://drive.google.com/file/d/${id}/view?usp=drivesdk`;
  expect((await source.open({ path: "spring.csv" })).url).toBe(url);
  expect(await source.move({ path: "spring.csv" }, "failed")).toEqual({
    name: "failed/spring.csv",
    url,
  });
});

test("a folder that is in the trash is made again", async () => {
  google.drive.trash(google.drive.addFolder("done", folderId));
  add("spring.csv", csv);
  await source.move({ path: "spring.csv" }, "done");
  expect(namesIn("done")).toEqual([[], ["spring.csv"]]);
});

test("a file named done is no folder", async () => {
  add("done", csv);
  add("spring.csv", csv);
  await source.move({ path: "spring.csv" }, "done");
  expect(namesIn("done")).toEqual([["spring.csv"]]);
});

describe("errors", () => {
  const writeErrors = (path: string, ...rows: string[]) =>
    source.writeErrors({ path }, sheetOfErrors(rows));
  const folderNamed = (name: string) => google.drive.foldersNamed(name, folderId)[0] ?? "";

  test("are beside the file, under one address, and are no new file", async () => {
    add("spring.csv", csv);
    const first = await writeErrors("spring.csv", "u-1");
    await source.move({ path: "spring.csv" }, "failed");
    expect(await writeErrors("spring.csv", "u-2")).toEqual(first);
    expect(namesIn("failed")).toEqual([["spring.csv", "spring.errors.csv"]]);
    const id = google.drive.idOf("spring.errors.csv", folderNamed("failed"));
    expect(first).toEqual({
      name: "failed/spring.errors.csv",
      url: `https://drive.google.com/file/d/${id}/view?usp=drivesdk`,
    });
    expect(google.drive.contentOf(id)).toBe('\ufeff"user_id"\r\n"u-2"\r\n');
    expect(await newFiles()).toEqual([]);
  });

  test("of a workbook are a file, although people open it as a spreadsheet", async () => {
    const id = add("spring.xlsx", "PK");
    const { url } = await source.open({ path: "spring.xlsx" });
    expect(url).toContain(`https://docs.google.com/spreadsheets/d/${id}/edit`);
    const place = await source.writeErrors({ path: "spring.xlsx", url }, sheetOfErrors(["u-1"]));
    expect(place.name).toMatch(/^failed\/spring.xlsx-[0-9a-f]{12}.errors.csv$/);
    expect(namesIn("failed").flat()).toEqual([place.name.slice("failed/".length)]);
  });

  test("that two workers write at once are in one file", async () => {
    const failed = google.drive.addFolder("failed", folderId);
    google.beforeNext(/^POST \/drive\/v3\/files$/, () => {
      google.drive.add({ name: "spring.errors.csv", folderId: failed, content: "" });
    });
    await writeErrors("spring.csv", "u-1");
    expect(namesIn("failed")).toEqual([["spring.errors.csv"]]);
    const id = google.drive.idOf("spring.errors.csv", failed);
    expect(google.drive.contentOf(id)).toContain("u-1");
  });

  test("are written again when Google's answer is lost", async () => {
    google.failNext({ line: /^PATCH \/upload/, status: 503, isExecuted: true });
    google.failNext({ line: /^PATCH \/upload/, status: 429 });
    const error = await writeErrors("spring.csv", "u-1").catch((thrown: Error) => thrown);
    expect(error).toMatchObject({ status: 503 });
    await writeErrors("spring.csv", "u-2");
    const id = google.drive.idOf("spring.errors.csv", folderNamed("failed"));
    expect(google.drive.contentOf(id)).toContain("u-2");
  });

  test("that are dropped again leave their name to the next ones", async () => {
    add("spring.errors.csv", "corrected");
    await source.move({ path: "spring.errors.csv" }, "failed");
    await writeErrors("spring.errors.csv", "u-1");
    expect(namesIn("failed")).toEqual([["spring.errors-2.csv", "spring.errors.errors.csv"]]);
  });
});
