/** Tests that the client package exports the messages of every file of the contract. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** The files of options, and of what messages of other packages contain. */
const notExported = ["access/v1/caller_pb.ts", "rules/"];

const filesIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(ending),
  );

test("no generated file is left out of the exports, and none is in two of them", () => {
  const modules = filesIn("packages/client/src/messages", ".ts");
  const exported = modules.flatMap((file) => {
    const text = readFileSync(`packages/client/src/messages/${file}`, "utf8");
    return Array.from(text.matchAll(/src\/gen\/meguri\/([^"]+)"/g), ([, path]) => path);
  });
  const generated = filesIn("src/gen/meguri", "_pb.ts").filter(
    (file) => !notExported.some((name) => file.startsWith(name)),
  );
  expect(exported.sort()).toEqual(generated.sort());
});
