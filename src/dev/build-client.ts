/**
 * `npm run build:client [FOLDER]`: builds what other teams call Meguri with, into `dist`:
 * the package `@meguri/client` as a tarball, and `meguri.binpb`, a descriptor set of the contract.
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
const folder = join(out, "client");

/** The folders of the package, by the names under which they are imported. */
const services = [
  "bulk-grants",
  "notifications",
  "points",
  "programs",
  "reactions",
  "reservations",
  "testing",
];

/** The packages that the client imports, as far as they run on Node 20. */
const dependencies = {
  "@bufbuild/protobuf": "^2.17.0",
  "@bufbuild/protovalidate": "^1.3.0",
  "@connectrpc/connect": "^2.1.2",
  "@connectrpc/connect-node": "^2.1.2",
};

function compile(): void {
  const config = join(folder, "tsconfig.json");
  const compilerOptions = {
    target: "es2022",
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: root,
    outDir: join(folder, "lib"),
    typeRoots: [join(root, "node_modules", "@types")],
  };
  const include = [join(root, "packages", "client", "src")];
  const extended = join(root, "tsconfig.json");
  writeFileSync(config, JSON.stringify({ extends: extended, compilerOptions, include }));
  execFileSync(bin("tsc"), ["--project", config], { stdio: "inherit" });
  rmSync(config);
}

function describe(): void {
  const { version, description } = readJson("package.json");
  const entry = (path: string) => ({ types: `./lib/${path}.d.ts`, default: `./lib/${path}.js` });
  const source = (path: string) => entry(`packages/client/src/${path}`);
  const messages = services.map((name) => [`./${name}`, source(`messages/${name}`)]);
  const manifest = {
    name: "@meguri/client",
    version,
    description: `The client of Meguri. ${description}`,
    type: "module",
    engines: { node: ">=20" },
    exports: { ".": source("index"), ...Object.fromEntries(messages) },
    files: ["lib", "meguri.binpb"],
    dependencies,
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  cpSync(join(root, "docs", "clients.md"), join(folder, "README.md"));
}

const readJson = (file: string) => JSON.parse(readFileSync(join(root, file), "utf8"));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const descriptors = join(folder, "meguri.binpb");
execFileSync(bin("buf"), ["build", "proto", "--output", descriptors], { cwd: root });
cpSync(descriptors, join(out, "meguri.binpb"));
compile();
describe();
const args = ["pack", "--json", "--pack-destination", out];
const [{ filename }] = JSON.parse(execFileSync("npm", args, { cwd: folder, encoding: "utf8" }));
process.stdout.write(`${join(out, filename)}\n${join(out, "meguri.binpb")}\n`);
