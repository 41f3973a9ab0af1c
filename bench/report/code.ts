/**
 * Computes a hash of the code that a benchmark measures: its case and all files that it imports or
 * starts as processes, without comments and types. It needs no history of commits, so that it is
 * the same in a shallow clone.
 */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { withoutComments } from "../../test/support/tidy.ts";
import type { Benchmark } from "../benchmark.ts";

const root = posix.resolve(import.meta.dirname, "../..");

/** Reads a file by its path from the project's root; undefined when there is none. */
export type ReadFile = (path: string) => string | undefined;

/** What a file consists of, and what it needs. */
interface SourceFile {
  readonly code: string;
  readonly files: readonly string[];
  readonly packages: readonly string[];
}

/** The hashes of benchmarks by the names of their results. */
export async function codeHashes(benchmarks: readonly Benchmark[]): Promise<Map<string, string>> {
  const hashOf = codeHasher(readFile);
  const hashes = new Map<string, string>();
  for (const path of globSync("bench/cases/*.ts", { cwd: root })) {
    const exported = Object.values(await import(posix.join(root, path)));
    for (const benchmark of benchmarks.filter((each) => exported.includes(each))) {
      for (const name of benchmark.names) hashes.set(name, hashOf(path));
    }
  }
  return hashes;
}

function readFile(path: string): string | undefined {
  const file = posix.join(root, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** Returns a function that computes the hash of a file and of everything that it needs. */
export function codeHasher(read: ReadFile): (entry: string) => string {
  const manifest = JSON.parse(read("package.json") ?? "{}");
  const versions = { ...manifest.devDependencies, ...manifest.dependencies };
  const known = new Map<string, SourceFile | undefined>();
  const parse = (path: string) => {
    if (!known.has(path)) known.set(path, parsed(path, read));
    return known.get(path);
  };
  return (entry) => {
    const reached = new Set([entry]);
    const packages = new Set<string>();
    // A set also iterates over what is added meanwhile.
    for (const path of reached) {
      for (const file of parse(path)?.files ?? []) if (parse(file)) reached.add(file);
      for (const name of parse(path)?.packages ?? []) packages.add(name);
    }
    const hash = createHash("sha256");
    for (const path of [...reached].sort()) hash.update(`${path}\n${parse(path)?.code}\n`);
    for (const name of [...packages].sort()) hash.update(`${name} ${versions[name]}\n`);
    return hash.digest("hex").slice(0, 16);
  };
}

/** Imports and exports of types only, which no process loads. */
const typeImport = /^(?:import|export) type [\w\s{},*$]*?from "[^"]+";$/gm;

const imported = /(?:\bfrom |^import |\bimport\()"([^"]+)"/gm;

/** A file that is started or read, by its path from this file's folder. */
const beside = /\bimport\.meta\.dirname\}\/([\w./-]+\.\w+)/g;

/** The same, by its path from the project's root. */
const named = /\b(?:activities|bench|deploy|src|test|tools|workflows)\/[\w./-]+\.\w+\b/g;

function parsed(path: string, read: ReadFile): SourceFile | undefined {
  const text = read(path);
  // The versions of packages are counted where they are imported.
  if (text === undefined || path === "package.json") return undefined;
  if (!path.endsWith(".ts")) return { code: text, files: [], packages: [] };
  const code = withoutComments(text)
    .replace(typeImport, "")
    .replace(/^\s*\n/gm, "");
  const fromFolder = (relative: string) => posix.join(posix.dirname(path), relative);
  const files = [...code.matchAll(named)].map(([file]) => file as string);
  for (const [, file = ""] of code.matchAll(beside)) files.push(fromFolder(file));
  const packages: string[] = [];
  for (const [, specifier = ""] of code.matchAll(imported)) {
    const [scope = "", name = "", ...rest] = specifier.split("/");
    if (scope.startsWith(".")) files.push(fromFolder(specifier));
    else if (scope === "@meguri") files.push(exportOf(`packages/${name}`, rest, read));
    else packages.push(scope.startsWith("@") ? `${scope}/${name}` : scope);
  }
  return { code, files, packages };
}

/** The file that a package of this project exports as `./NAME`, or as itself. */
function exportOf(folder: string, [name]: readonly string[], read: ReadFile): string {
  const { exports } = JSON.parse(read(`${folder}/package.json`) ?? "{}");
  return posix.join(folder, exports?.[name === undefined ? "." : `./${name}`] ?? "");
}
