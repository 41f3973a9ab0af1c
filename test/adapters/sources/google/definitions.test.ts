/** The definitions of the Google sources, as docs/google-sources.md shows them. */
import { expect, test } from "vitest";
import { z } from "zod";
import { driveFields, sheetFields } from "../../../../src/adapters/sources/google/definitions.ts";
import { codeNamed } from "../../../support/markdown.ts";

const named = { name: z.string(), identity: z.string() };
const drive = z.strictObject({ ...named, ...driveFields, pick_up: z.unknown().optional() });
const sheet = z.strictObject({ ...named, ...sheetFields });

test("the page shows valid definitions", () => {
  const { sources } = JSON.parse(codeNamed("docs/google-sources.md", "definitions"));
  expect(drive.parse(sources[0])).toEqual(sources[0]);
  expect(sheet.parse(sources[1])).toEqual(sources[1]);
});

test.each([
  { folder_id: "" },
  { folder_id: "a/b" },
  { folder_id: "https://drive.google.com/drive/folders/1qG5nN0wYlJx3bT7cVhZ2sRdKuE9mPfAa" },
  { key_file: "" },
  { endpoint: "ftp://localhost/" },
])("a definition with %j is invalid", (changes) => {
  const valid = { name: "x", identity: "x", type: "drive", folder_id: "1", key_file: "/key.json" };
  expect(drive.safeParse(valid).success).toBe(true);
  expect(drive.safeParse({ ...valid, ...changes }).success).toBe(false);
});
