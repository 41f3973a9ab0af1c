/** Records in verdicts.json what protobuf-go says of all inputs. Needs Go, and the network once. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { inputs } from "./inputs.ts";

const folder = import.meta.dirname;
const temporary = mkdtempSync(`${tmpdir()}/json-verdicts-`);
try {
  const image = `${temporary}/image.binpb`;
  execFileSync("npx", ["buf", "build", "-o", image], { stdio: "inherit" });
  const lines = inputs.map(({ message, json }) =>
    JSON.stringify({ type: message.typeName, json: Buffer.from(json).toString("base64") }),
  );
  const verdicts = execFileSync("go", ["run", ".", image], {
    cwd: folder,
    input: lines.join("\n"),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  const table: Record<string, Record<string, string | null>> = {};
  for (const [i, verdict] of verdicts.trim().split("\n").entries()) {
    const { message, json } = inputs[i] as (typeof inputs)[number];
    table[message.typeName] = { ...table[message.typeName], [json]: JSON.parse(verdict) };
  }
  writeFileSync(`${folder}/verdicts.json`, `${JSON.stringify(table, null, 1)}\n`);
} finally {
  rmSync(temporary, { recursive: true });
}
