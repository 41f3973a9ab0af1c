/** Reads what the documentation shows of a terminal: commands after `$ `, and what they print. */
import { readFileSync } from "node:fs";
import { projectRoot } from "./markdown.ts";

/** One command and what it prints, both without indentation. */
export interface ConsoleStep {
  readonly command: string;
  readonly printed: string;
}

/** All commands of a file, in its order. `file` is relative to the project. */
export function consoleSteps(file: string): ConsoleStep[] {
  const text = readFileSync(`${projectRoot}${file}`, "utf8");
  const blocks = [...text.matchAll(/^( *)```\n( *\$ .*?)^\1```$/gms)].map(
    ([, indent = "", block = ""]) => block.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
  );
  return blocks.flatMap((block) => block.split(/^\$ /m).slice(1).map(stepOf));
}

/** A command goes on to the next line within quotes and after a backslash. */
function stepOf(text: string): ConsoleStep {
  const [command = ""] = /^(?:'[^']*'|\\\n|[^'\n])*/.exec(text) ?? [];
  return { command, printed: text.slice(command.length).trim() };
}

const varying = [
  /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?/,
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/,
  /(?<="lateness":")[\d.]+s/,
  /\d+ \w+ ago\b/,
  /\bnow\b/,
];

/**
 * What a real answer has to match: times, ages, random ids and the lateness may be others, columns
 * may be wider, and `…` stands for anything.
 */
export function patternOf(printed: string): RegExp {
  const any = new RegExp(varying.map(({ source }) => source).join("|"), "g");
  const parts = printed.replaceAll(any, "\0").split(/(\0|…|\s+)/);
  const pattern = parts.map((part) => {
    if (part === "\0") return `(?:${any.source})`;
    if (part === "…") return "[^]*?";
    return /^\s+$/.test(part) ? "\\s+" : part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  });
  return new RegExp(`^\\s*${pattern.join("")}\\s*$`);
}
