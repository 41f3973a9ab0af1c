import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";
import { defineConfig } from "vitest/config";
import npmTest from "../vitest.config.ts";
import { type Mutant, MutationReporter } from "./reporter.ts";

const root = resolve(import.meta.dirname, "../..");
const sources = process.env.MUTATIONS_OF?.split(" ") ?? [
  "src/*/{rules,use-cases,rpc}/**/*.ts",
  "src/platform/{auth,edge,engine,words,work}/**/*.ts",
  "packages/client/src/{call,retry-policy,reopen}.ts",
];
const share = Number(process.env.MUTATIONS_SHARE ?? 1);

const { files, mutants } = await instrument();
const { projects: _, ...shared } = npmTest.test ?? {};

/**
 * Runs the tests of the domain, the use cases, the handlers, the engine and the client with each
 * change that Stryker makes of the source, one after another in one process: `runner.ts` does.
 */
export default defineConfig({
  plugins: [
    { name: "mutations", enforce: "pre", load: (id) => files.get(id.split("?")[0] as string) },
  ],
  test: {
    ...shared,
    root,
    include: [
      "test/*/{rules,use-cases,rpc}/**/*.test.ts",
      "test/platform/{auth,edge,engine,words,work}/**/*.test.ts",
      "test/client/**/*.test.ts",
    ],
    runner: `${import.meta.dirname}/runner.ts`,
    // Without the check of what a file leaves behind: a change may leave anything.
    setupFiles: ["test/support/shorter-timing.ts", "test/support/fixed-seed.ts"],
    provide: { ...shared.provide, mutants: mutants.map(({ id }) => id) },
    maxWorkers: 2,
    // One change is made at a time.
    maxConcurrency: 1,
    reporters: ["default", new MutationReporter(mutants)],
  },
});

/** Returns the files with all changes in them, by path, and the chosen share of these. */
async function instrument() {
  const logger = new Proxy({}, { get: () => () => false });
  const read = globSync(sources, { cwd: root }).map((name) => {
    const path = `${root}/${name}` as const;
    return { name: path, mutate: true, content: readFileSync(path, "utf8") };
  });
  const options = { plugins: null, excludedMutations: [], ignorers: [] };
  const result = await new Instrumenter(logger as never).instrument(read, options);
  const texts = result.files.map(({ name, content }) => [name, withOwnCover(content)] as const);
  const chosen = result.mutants.map(
    ({ id, fileName, location, mutatorName, replacement }): Mutant => ({
      id,
      file: relative(root, fileName),
      line: location.start.line + 1,
      column: location.start.column + 1,
      change: `${mutatorName}: ${replacement.split("\n")[0]}`,
    }),
  );
  return { files: new Map(texts), mutants: chosen.filter((mutant) => shareOf(mutant) < share) };
}

/** A number from 0 to 1 that stays the same as long as the change does. */
function shareOf({ file, line, column, change }: Mutant): number {
  const hash = createHash("sha256").update(`${file}:${line}:${column}:${change}`).digest();
  return hash.readUInt32BE() / 2 ** 32;
}

/** Stryker's function that counts what is run takes half of the time; `runner.ts` has another. */
function withOwnCover(content: string): string {
  return content.replace(
    /stryCov_9fa48 = cover;\s*cover\.apply/,
    "stryCov_9fa48 = ns.cover; ns.cover.apply",
  );
}
