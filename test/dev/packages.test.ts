/** Tests the manifests of the server and of the packages: their versions and their dependencies. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import server from "../../package.json" with { type: "json" };
import cli from "../../packages/cli/package.json" with { type: "json" };
import client from "../../packages/client/package.json" with { type: "json" };

/** The packages that the files import, in the order of the alphabet. */
function importedBy(...patterns: string[]): string[] {
  const imports = /^(?!\s*\*).*(?<!\.)\b(?:from|import)\b[ (]"([^"]+)"/gm;
  const specifiers = globSync(patterns).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(imports)].map(([, specifier = ""]) => specifier),
  );
  const packages = specifiers.filter((one) => !/^(\.|node:)/.test(one));
  const names = packages.map((one) => one.split("/", one.startsWith("@") ? 2 : 1).join("/"));
  return [...new Set(names)].sort();
}

const dependenciesOf = ({ dependencies }: { dependencies: object }) =>
  Object.keys(dependencies).sort();

test("all have the same version, and the command needs the client of this version", () => {
  const { version } = server;
  expect([client.version, cli.version, cli.dependencies["@meguri/client"]]).toEqual([
    version,
    version,
    version,
  ]);
});

test("the client depends on what it and the generated code import", () => {
  const imported = importedBy("packages/client/src/**/*.ts", "src/gen/**/*.ts");
  expect(dependenciesOf(client)).toEqual(imported);
});

test("the command depends on what it imports", () => {
  expect(dependenciesOf(cli)).toEqual(importedBy("packages/cli/src/**/*.ts"));
});

test("the server depends on what it imports, and on nothing that only the packages need", () => {
  const imported = importedBy("{src,workflows,activities}/**/*.ts");
  const own = dependenciesOf(server);
  const declared = [...own, ...Object.keys(server.devDependencies)];
  expect(imported.filter((name) => !declared.includes(name))).toEqual([]);
  const ofPackages = [...dependenciesOf(client), ...dependenciesOf(cli)];
  const unused = own.filter((name) => !imported.includes(name));
  expect(unused.filter((name) => ofPackages.includes(name))).toEqual([]);
});

test("no package may be used outside, as the file LICENSE says", () => {
  expect([server, client, cli].map(({ license }) => license)).toEqual(Array(3).fill("UNLICENSED"));
  expect(readFileSync("LICENSE", "utf8")).toContain("internal product");
});

interface Locked {
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

/** Whether a build is for the machines that run tests, servers and workers. */
const isForLinux = ({ os, cpu, libc }: Locked) =>
  [os?.includes("linux"), cpu?.some((one) => /^(x|arm)64$/.test(one)), libc?.[0] !== "musl"].every(
    (one) => one !== false,
  );

test("every locked package has its integrity, but for optional builds for other machines", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const locked = Object.entries<Locked>(packages).filter(
    ([path, { link }]) => path.includes("node_modules/") && !link,
  );
  const without = locked.filter(([, { integrity }]) => !/^sha512-/.test(integrity ?? ""));
  const named = without.filter(([, one]) => !one.optional || isForLinux(one));
  expect(named.map(([path]) => path)).toEqual([]);
});
