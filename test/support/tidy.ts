/** Finds what no linter finds: unused exports, and files that break the style. */

/** Source files by path from the project's root, with `/`. */
export type Sources = ReadonlyMap<string, string>;

const MAX_COLUMNS = 100;
const MAX_LINES = 350;
const SOURCE = /^(src|workflows|activities|packages)\//;

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
 * Lines over 100 columns, files that do not open with a sentence about themselves, and source files
 * that are too long.
 */
export function badStyle(sources: Sources): string[] {
  return [...sources].flatMap(([file, text]) => {
    if (file.startsWith("src/gen/")) return [];
    const isConfig = file.endsWith(".config.ts");
    return [
      ...(isConfig || opensWithSentence(text)
        ? []
        : ["does not open with a sentence about itself"]),
      ...(lineCount(text) > MAX_LINES && SOURCE.test(file) ? ["has too many lines"] : []),
      ...longLines(text),
    ].map((problem) => `${file}: ${problem}`);
  });
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
export function withoutComments(text: string): string {
  return text.replace(/^\s*\/\*[\s\S]*?\*\//gm, "").replace(/^\s*\/\/.*$/gm, "");
}
