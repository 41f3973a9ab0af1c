/**
 * Finds what no linter finds: imports against the table of the design, packages that a workflow
 * must not reach, import circles, unused exports, and files that break the style.
 */
import { isBuiltin } from "node:module";
import { posix } from "node:path";

/** Source files by path from the project's root, with `/`. */
export type Sources = ReadonlyMap<string, string>;

export type Import = {
  /** The text between the quotes; undefined for `import(expression)`. */
  readonly specifier: string | undefined;
  /** Whether it is `import type` or `export type`, which has no effect when the program runs. */
  readonly typeOnly: boolean;
};

type Rule = {
  /** Files of the project that may be imported, besides those of the folder itself. */
  readonly project?: RegExp;
  /** More files that may be imported with `import type`. */
  readonly types?: RegExp;
  /** Packages and builtins (`node:crypto`). */
  readonly packages?: RegExp;
};

const ANYTHING = /^/;
const PURE_PACKAGES = /^(temporal-polyfill|tzdata)$/;
const WORKFLOW_PACKAGES = /^@temporalio\/(workflow|common)$/;
const CLI_PACKAGES = new RegExp(
  `^(${[
    "@bufbuild/protobuf",
    "@commander-js/extra-typings",
    "@meguri/client",
    "@pnpm/tabtab",
    "cli-progress",
    "commander",
    "string-width",
    "temporal-polyfill",
    "node:.+",
  ].join("|")})$`,
);

/** The first rule applies whose key is the file or one of its folders. */
const RULES: readonly (readonly [string, Rule])[] = [
  ["src/gen/", { packages: /^@bufbuild\// }],
  ["src/domain/", { packages: PURE_PACKAGES }],
  ["src/contract/", { types: /^src\/domain\// }],
  ["src/config/", { packages: /^(zod|node:.+)$/ }],
  ["src/log.ts", { packages: /^(pino|node:.+)$/ }],
  [
    "src/app/",
    {
      project: /^src\/(contract|domain)\//,
      packages: /^(csv-(parse|stringify)|p-limit|p-retry|node:.+)$/,
    },
  ],
  [
    "src/store/",
    {
      project: /^src\/(domain\/|app\/ports\/)/,
      packages: /^(@aws-sdk\/.+|@smithy\/.+|node:.+)$/,
    },
  ],
  [
    "src/temporal/",
    {
      project: /^src\/(contract\/|app\/ports\/|domain\/(caller|errors|month)\.ts$)/,
      types: /^src\/(domain\/|log\.ts$)/,
      packages: /^(@temporalio\/(client|common)|node:.+)$/,
    },
  ],
  [
    "src/rpc/",
    {
      project:
        /^src\/(gen\/|app\/|domain\/(caller|errors|month|program|reservation|sheet|target)\.ts$)/,
      types: /^src\/domain\//,
      packages: /^(?!@aws-sdk\/|@smithy\/|@temporalio\/)/,
    },
  ],
  [
    "src/auth/",
    {
      project: /^src\/domain\/(caller|errors)\.ts$/,
      types: /^src\/(app\/ports\/identity|log)\.ts$/,
      packages: /^(jose|lru-cache|zod|node:.+)$/,
    },
  ],
  [
    "packages/client/",
    {
      project: /^src\/(gen\/|domain\/errors\.ts$)/,
      packages: /^(@bufbuild\/protobuf|@connectrpc\/connect(-node)?|node:.+)$/,
    },
  ],
  [
    "src/probes/",
    {
      project: /^src\/(app\/ports\/|domain\/(errors|program)\.ts$)/,
      types: /^src\/log\.ts$/,
      packages: /^node:(events|http|net|timers\/promises)$/,
    },
  ],
  [
    "src/adapters/slack/",
    {
      project: /^src\/(app\/ports\/|domain\/caller\.ts$)/,
      types: /^src\/domain\//,
      packages: /^(@slack\/webhook|p-retry)$/,
    },
  ],
  [
    "src/adapters/sources/google/",
    {
      project: /^src\/domain\/(errors|sheet)\.ts$/,
      types: /^src\/(app\/ports\/bulk-grants|adapters\/sources\/source)\.ts$/,
      packages: /^(@googleapis\/(drive|sheets)|csv-stringify|zod|node:.+)$/,
    },
  ],
  [
    "src/adapters/sources/",
    {
      project: /^src\/(domain\/|adapters\/sources\/google\/definitions\.ts$)/,
      types: /^src\/app\/ports\//,
      packages: /^(@aws-sdk\/client-s3|zod|node:.+)$/,
    },
  ],
  [
    "src/runtime/",
    {
      project: /^src\/(domain\/|app\/ports\/)/,
      types: /^src\/log\.ts$/,
      packages: /^(lru-cache|p-(limit|retry)|node:timers\/promises)$/,
    },
  ],
  ["src/compose.ts", { project: ANYTHING, packages: ANYTHING }],
  ["src/server.ts", { project: ANYTHING, packages: ANYTHING }],
  ["src/worker.ts", { project: ANYTHING, packages: ANYTHING }],
  [
    "src/worker/",
    {
      project: /^src\/(domain\/reservation|probes\/listener)\.ts$/,
      types: /^src\/(domain\/|log\.ts$)/,
      packages: /^(@temporalio\/worker|prom-client|node:.+)$/,
    },
  ],
  ["packages/cli/", { packages: CLI_PACKAGES }],
  ["src/dev/", { project: ANYTHING, packages: ANYTHING }],
  ["src/ops/", { project: ANYTHING, packages: ANYTHING }],
  [
    "workflows/",
    {
      project: /^src\/(contract|domain)\//,
      types: /^activities\//,
      packages: WORKFLOW_PACKAGES,
    },
  ],
  [
    "activities/",
    {
      project: /^(src\/(app|contract|domain)\/|workflows\/timing\.ts$)/,
      packages: /^@temporalio\/(activity|common)$/,
    },
  ],
  ["tools/", { project: ANYTHING, packages: ANYTHING }],
  ["test/", { project: ANYTHING, packages: ANYTHING }],
  ["bench/", { project: ANYTHING, packages: ANYTHING }],
  ["examples/", { project: ANYTHING, packages: ANYTHING }],
];

const MAX_COLUMNS = 100;
const MAX_LINES = 350;
const SOURCE = /^(src|workflows|activities|packages)\//;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;

/** Imports that point the wrong way, one line each. */
export function wrongArrows(sources: Sources): string[] {
  return [...sources].flatMap(([file, text]) => {
    const found = RULES.find(([key]) => covers(key, file));
    if (found === undefined)
      return [`${file}: no rule in test/support/tidy.ts says what it may import`];
    const [key, rule] = found;
    return importsOf(text)
      .filter((one) => !isAllowed(file, key, rule, one))
      .map((one) => `${file}: may not import ${one.specifier ?? "a computed path"}`);
  });
}

/**
 * Builtins and packages that a workflow would bring into Temporal's sandbox, each with the path of
 * imports. Types do not count, because they do not exist when the code runs.
 */
export function reachedFromWorkflows(sources: Sources): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  const visit = (file: string, way: readonly string[]) => {
    if (seen.has(file)) return;
    seen.add(file);
    const here = [...way, file];
    for (const { specifier, typeOnly } of importsOf(sources.get(file) ?? "")) {
      if (typeOnly) continue;
      const target = targetOf(file, specifier ?? "a computed path");
      if (target.kind === "project") visit(target.path, here);
      else if (!mayRunInWorkflow(target.name)) {
        problems.push([...here, target.name].join(" → "));
      }
    }
  };
  for (const file of sources.keys()) if (file.startsWith("workflows/")) visit(file, []);
  return problems;
}

/** Import circles, types included: each as the path of imports from a file back to itself. */
export function importCircles(sources: Sources): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]) => {
    const start = way.indexOf(file);
    if (start >= 0) {
      circles.push([...way.slice(start), file].join(" → "));
      return;
    }
    if (done.has(file)) return;
    for (const { specifier } of importsOf(sources.get(file) ?? "")) {
      const target = specifier === undefined ? undefined : targetOf(file, specifier);
      if (target?.kind === "project") visit(target.path, [...way, file]);
    }
    done.add(file);
  };
  for (const file of sources.keys()) visit(file, []);
  return circles;
}

/** Exports that no other file names. Workflows are left out, because Temporal uses them. */
export function unusedExports(sources: Sources): string[] {
  const words = new Map(
    [...sources].map(([file, text]) => [file, new Set(withoutComments(text).match(/\w+/g))]),
  );
  return [...sources].flatMap(([file, text]) => {
    if (!/^(src\/(?!gen\/)|activities\/|packages\/)/.test(file)) return [];
    const exported = text.matchAll(
      /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm,
    );
    const isUsed = (name: string) =>
      [...words].some(([other, found]) => other !== file && found.has(name));
    return [...exported].flatMap(([, name = ""]) =>
      isUsed(name) ? [] : [`${file}: no other file uses ${name}`],
    );
  });
}

/**
 * Lines over 100 columns, names that are not kebab-case, default exports, files that do not open
 * with a sentence about themselves, and source files that are too long.
 */
export function badStyle(sources: Sources): string[] {
  return [...sources].flatMap(([file, text]) => {
    if (covers("src/gen/", file)) return [];
    const isConfig = file.endsWith(".config.ts");
    return [
      ...(file.split("/").every((part) => KEBAB_CASE.test(part)) ? [] : ["name is not kebab-case"]),
      ...(!isConfig && hasDefaultExport(text) ? ["default export"] : []),
      ...(isConfig || opensWithSentence(text)
        ? []
        : ["does not open with a sentence about itself"]),
      ...(lineCount(text) > MAX_LINES && SOURCE.test(file) ? ["has too many lines"] : []),
      ...longLines(text),
    ].map((problem) => `${file}: ${problem}`);
  });
}

/** The imports of a formatted file, in which each statement starts a line. */
export function importsOf(text: string): Import[] {
  const code = withoutComments(text);
  const statements = code.matchAll(
    /^\s*(?:import|export)\s+(type\s+(?!from\b))?[^;'"`()=]*?\bfrom\s*["']([^"']+)["']/gm,
  );
  const bare = code.matchAll(/^\s*import\s*["']([^"']+)["']/gm);
  const calls = code.matchAll(/\b(typeof\s+)?(?:import|require)\(\s*(?:["']([^"']+)["'])?/g);
  return [
    ...[...statements].map(([, type, specifier]) => ({ specifier, typeOnly: type !== undefined })),
    ...[...bare].map(([, specifier]) => ({ specifier, typeOnly: false })),
    ...[...calls].map(([, type, specifier]) => ({ specifier, typeOnly: type !== undefined })),
  ];
}

function isAllowed(file: string, key: string, rule: Rule, one: Import): boolean {
  if (one.specifier === undefined) return rule.packages === ANYTHING;
  const target = targetOf(file, one.specifier);
  if (target.kind === "package") return rule.packages?.test(target.name) ?? false;
  if (covers(key, target.path) || rule.project?.test(target.path)) return true;
  return one.typeOnly && (rule.types?.test(target.path) ?? false);
}

function covers(key: string, file: string): boolean {
  return key.endsWith("/") ? file.startsWith(key) : file === key;
}

type Target = { kind: "project"; path: string } | { kind: "package"; name: string };

function targetOf(file: string, specifier: string): Target {
  if (specifier.startsWith(".")) {
    return { kind: "project", path: posix.join(posix.dirname(file), specifier) };
  }
  if (isBuiltin(specifier)) {
    return { kind: "package", name: `node:${specifier.replace(/^node:/, "")}` };
  }
  const parts = specifier.split("/");
  return { kind: "package", name: parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/") };
}

function mayRunInWorkflow(name: string): boolean {
  return WORKFLOW_PACKAGES.test(name) || PURE_PACKAGES.test(name);
}

function hasDefaultExport(text: string): boolean {
  return /^export (default\b|\{[^}]*\bas default\b)/m.test(withoutComments(text));
}

/** Whether the first comment is about the file: an import or a blank line follows it. */
function opensWithSentence(text: string): boolean {
  return /^\/\*\*[\s\S]*?[.:;][\s\S]*?\*\/\n(import\b|export\b.* from |\n|$)/.test(text);
}

const lineCount = (text: string): number => text.split("\n").length - 1;

function longLines(text: string): string[] {
  return text.split("\n").flatMap((line, index) => {
    const columns = [...line].length;
    // A path cannot be broken.
    if (/^(import|export|\}) .*from "[^"]+";$/.test(line)) return [];
    return columns > MAX_COLUMNS ? [`line ${index + 1} has ${columns} columns`] : [];
  });
}

/** The text without block comments and without lines that are a comment. */
function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, "").replace(/^\s*\/\/.*$/gm, "");
}
