/** Asks protobuf-go what it says of JSON texts. Needs Go, and the network once. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { create, type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Input } from "./inputs.ts";

/** The message of each input in base64 as protobuf-go has read it, or null when it refuses. */
export function askProtobufGo(inputs: readonly Input[]): (string | null)[] {
  const temporary = mkdtempSync(`${tmpdir()}/json-verdicts-`);
  try {
    const image = `${temporary}/image.binpb`;
    const file = [...withImports(inputs.map(({ message }) => message.file))];
    const set = create(FileDescriptorSetSchema, { file: file.map(({ proto }) => proto) });
    writeFileSync(image, toBinary(FileDescriptorSetSchema, set));
    const lines = inputs.map(({ message, json }) =>
      JSON.stringify({ type: message.typeName, json: Buffer.from(json).toString("base64") }),
    );
    const verdicts = execFileSync("go", ["run", ".", image], {
      cwd: import.meta.dirname,
      input: lines.join("\n"),
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    return verdicts
      .trim()
      .split("\n")
      .map((verdict) => JSON.parse(verdict));
  } finally {
    rmSync(temporary, { recursive: true });
  }
}

/** The files and all that they import, each after its imports. */
function withImports(files: readonly DescFile[], found = new Set<DescFile>()): Set<DescFile> {
  for (const file of files) {
    if (!found.has(file)) withImports(file.dependencies, found).add(file);
  }
  return found;
}
