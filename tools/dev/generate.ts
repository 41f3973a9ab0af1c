/**
 * Generates src/gen, docs/call/api and the required fields of the client's requests from proto/,
 * the table of reasons in docs/call/errors.md, and the dashboard in deploy/grafana from
 * dashboard.ts.
 *
 *   node tools/dev/generate.ts           writes the generated files
 *   node tools/dev/generate.ts --check   changes nothing; exits 1 and lists stale files
 *   node tools/dev/generate.ts --fetch   only puts third-party protos into .cache, for buf lint
 *
 * Third-party protos are not committed. google.rpc comes from the npm package google-proto-files,
 * grpc.health from grpc-health-check, grpc.reflection from @grpc/reflection. No npm package has
 * buf.validate, so it comes from a Go module, which needs Go and, once, a network.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { createFileRegistry, type DescFile, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { apiReference } from "./api-reference.ts";
import { dashboardJson } from "./dashboard.ts";
import { withReasonsTable } from "./reasons-table.ts";

const root = join(import.meta.dirname, "..", "..");
const protos = join(root, ".cache", "protos");
const bin = join(root, "node_modules", ".bin");

const reference = "docs/call/api";

/** The version for the installed @bufbuild/protovalidate, and the hash of its proto file. */
const validateModule = "github.com/bufbuild/protovalidate@v1.2.2";
const validateSha256 = "a1dc1163ebac930b3b070655b91f2bc78df8b4aea940021661fe5ec7904a7b88";

function fetchProtos(): void {
  const modules = join(root, "node_modules");
  const googleRpc = "google/rpc/error_details.proto";
  place(googleRpc, fs.readFileSync(join(modules, "google-proto-files", googleRpc)));
  const health = "health/v1/health.proto";
  place(`grpc/${health}`, fs.readFileSync(join(modules, "grpc-health-check", "proto", health)));
  for (const version of ["v1", "v1alpha"]) {
    const reflection = `grpc/reflection/${version}/reflection.proto`;
    const folder = join(modules, "@grpc", "reflection", "build", "proto");
    place(reflection, fs.readFileSync(join(folder, reflection)));
  }

  const validate = "buf/validate/validate.proto";
  if (isPinned(read(join(protos, validate)))) return;
  const content = read(join(goModule(), "proto", "protovalidate", validate));
  if (content === undefined || !isPinned(content)) {
    throw new Error(`${validate} of ${validateModule} is not the file whose hash is pinned`);
  }
  place(validate, content);
}

function isPinned(content: Buffer | undefined): boolean {
  if (content === undefined) return false;
  return createHash("sha256").update(content).digest("hex") === validateSha256;
}

function place(name: string, content: Buffer): void {
  fs.mkdirSync(dirname(join(protos, name)), { recursive: true });
  fs.writeFileSync(join(protos, name), content);
}

function read(path: string): Buffer | undefined {
  return fs.existsSync(path) ? fs.readFileSync(path) : undefined;
}

const readText = (path: string) => read(path)?.toString();

function goModule(): string {
  try {
    const args = ["mod", "download", "-json", validateModule];
    const answer = execFileSync("go", args, { cwd: tmpdir(), encoding: "utf8" });
    return (JSON.parse(answer) as { Dir: string }).Dir;
  } catch (cause) {
    throw new Error(`cannot fetch ${validateModule}: it takes Go and the Go proxy`, { cause });
  }
}

function generate(into: string): void {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const args = ["generate", "--output", into];
  execFileSync(join(bin, "buf"), args, { cwd: root, env, stdio: "inherit" });
}

/** The files that buf does not write: documents, the dashboard, required fields; by path. */
async function generateOthers(): Promise<ReadonlyMap<string, string>> {
  const errors = "docs/call/errors.md";
  const files = readProtos();
  // It validates by src/gen, which has a new rule only when buf has written it.
  const { requiredFieldsSource } = await import("./required-fields.ts");
  return new Map([
    ...[...apiReference(files)].map(([name, text]) => [`${reference}/${name}`, text] as const),
    ["packages/client/src/required-fields.ts", requiredFieldsSource(files)],
    [errors, withReasonsTable(fs.readFileSync(join(root, errors), "utf8"))],
    ["deploy/grafana/meguri.json", dashboardJson()],
  ]);
}

/** The descriptors of this project's protos, with their comments. */
function readProtos(): DescFile[] {
  const args = ["build", "--as-file-descriptor-set", "--output", "-"];
  const image = execFileSync(join(bin, "buf"), args, { cwd: root, maxBuffer: 2 ** 26 });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  return [...registry.files].filter(({ proto }) => proto.package.startsWith("meguri."));
}

function listFiles(folder: string): string[] {
  if (!fs.existsSync(folder)) return [];
  const entries = fs.readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((file) => relative(folder, join(file.parentPath, file.name)));
}

/** The files that differ from generated ones: changed, missing or superfluous. */
async function staleFiles(): Promise<string[]> {
  const others = await generateOthers();
  const stale = [...others].filter(([name, text]) => readText(join(root, name)) !== text);
  const pages = listFiles(join(root, reference)).map((name) => `${reference}/${name}`);
  const superfluous = pages.filter((name) => !others.has(name));
  return [...staleCode(), ...stale.map(([name]) => name), ...superfluous];
}

function staleCode(): string[] {
  const temp = fs.mkdtempSync(join(tmpdir(), "meguri-gen-"));
  try {
    generate(temp);
    const [fresh, present] = [join(temp, "src", "gen"), join(root, "src", "gen")];
    const names = new Set([...listFiles(fresh), ...listFiles(present)]);
    const isStale = (name: string) => readText(join(fresh, name)) !== readText(join(present, name));
    return [...names]
      .filter(isStale)
      .sort()
      .map((name) => `src/gen/${name}`);
  } finally {
    fs.rmSync(temp, { recursive: true, force: true });
  }
}

fetchProtos();
if (process.argv.includes("--check")) {
  const stale = await staleFiles();
  if (stale.length > 0) {
    console.error("these files are not as generated; run `npm run generate`:");
    for (const name of stale) console.error(`  ${name}`);
    process.exitCode = 1;
  }
} else if (!process.argv.includes("--fetch")) {
  generate(root);
  fs.mkdirSync(join(root, reference), { recursive: true });
  for (const [name, text] of await generateOthers()) fs.writeFileSync(join(root, name), text);
}
