/**
 * `npm run build:packages [FOLDER]`: builds what other repositories install, into `dist`: the
 * packages `@meguri/client` and `@meguri/cli` as tarballs, and `meguri.binpb`, a descriptor set of
 * the contract.
 *
 * The sources run without a build in this repository only: Node strips no types below
 * `node_modules`, so a package needs JavaScript.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = join(import.meta.dirname, "..", "..");
const bin = (name: string) => join(root, "node_modules", ".bin", name);
const out = resolve(process.argv[2] ?? join(root, "dist"));
const compiled = join(out, "compiled");
const descriptors = join(out, "meguri.binpb");

/** Compiles both packages, with the generated code that the client imports, for Node 20. */
function compile(): void {
  const config = join(compiled, "tsconfig.json");
  const compilerOptions = {
    target: "es2022",
    noEmit: false,
    declaration: true,
    allowJs: true,
    rewriteRelativeImportExtensions: true,
    rootDir: root,
    outDir: compiled,
    typeRoots: [join(root, "node_modules", "@types")],
  };
  const include = ["client", "cli"].map((name) => join(root, "packages", name, "src"));
  const extended = join(root, "tsconfig.json");
  mkdirSync(compiled, { recursive: true });
  writeFileSync(config, JSON.stringify({ extends: extended, compilerOptions, include }));
  execFileSync(bin("tsc"), ["--project", config], { stdio: "inherit" });
}

/** Assembles the client. Its `lib` has the folders of the repository, as the code imports them. */
function assembleClient(): string {
  const folder = join(out, "client");
  const lib = (path: string) => join(folder, "lib", path);
  cpSync(join(compiled, "packages", "client"), lib("packages/client"), { recursive: true });
  cpSync(join(compiled, "src"), lib("src"), { recursive: true });
  cpSync(descriptors, join(folder, "meguri.binpb"));
  const { exports, ...manifest } = readManifest("client");
  const places = Object.entries(exports).map(([name, source]) => {
    const place = source.replace("./", "./lib/packages/client/").replace(/\.ts$/, "");
    return [name, { types: `${place}.d.ts`, default: `${place}.js` }];
  });
  describe("client", folder, { ...manifest, exports: Object.fromEntries(places) });
  return folder;
}

/**
 * Assembles the command with a copy of the client, so that its tarball is all that it needs. npm
 * installs no dependencies of a bundled package, so they are the command's as well.
 */
function assembleCommand(client: string): string {
  const folder = join(out, "cli");
  const options = { recursive: true, filter: (file: string) => !/\.(d\.ts|binpb)$/.test(file) };
  cpSync(join(compiled, "packages", "cli", "src"), join(folder, "lib"), options);
  cpSync(client, join(folder, "node_modules", "@meguri", "client"), options);
  const { devDependencies: _, ...manifest } = readManifest("cli");
  describe("cli", folder, {
    ...manifest,
    bin: { meguri: manifest.bin.meguri.replace("src/", "lib/") },
    dependencies: { ...readManifest("client").dependencies, ...manifest.dependencies },
    bundleDependencies: ["@meguri/client"],
  });
  return folder;
}

/**
 * Writes the manifest, the README and the license. The manifests of the repository are private, so
 * that nobody publishes a package without its JavaScript; the ones that are packed are not.
 */
function describe(name: string, folder: string, manifest: object): void {
  const text = JSON.stringify({ ...manifest, private: undefined }, undefined, 2);
  writeFileSync(join(folder, "package.json"), `${text}\n`);
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  cpSync(join(root, "packages", name, "README.md"), join(folder, "README.md"));
}

interface Manifest {
  readonly exports: Readonly<Record<string, string>>;
  readonly bin: { readonly meguri: string };
  readonly dependencies: object;
  readonly devDependencies?: object;
}

const readManifest = (name: string): Manifest =>
  JSON.parse(readFileSync(join(root, "packages", name, "package.json"), "utf8"));

/** Makes the tarball of a folder, and returns its path. */
function pack(folder: string): string {
  const args = ["pack", "--json", "--pack-destination", out];
  const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8" }));
  return join(out, filename);
}

for (const name of ["client", "cli", "compiled"]) {
  rmSync(join(out, name), { recursive: true, force: true });
}
mkdirSync(out, { recursive: true });
execFileSync(bin("buf"), ["build", "proto", "--output", descriptors], { cwd: root });
compile();
const client = assembleClient();
const cli = assembleCommand(client);
rmSync(compiled, { recursive: true });
process.stdout.write(`${[pack(client), pack(cli), descriptors].join("\n")}\n`);
