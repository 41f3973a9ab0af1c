/** The places in the code that make a command for AWS, and which of them processes have used. */
import { globSync, readFileSync } from "node:fs";
import { projectRoot } from "../markdown.ts";

/** A command and the place where it is made, or from which it is sent. */
interface Site {
  readonly file: string;
  readonly line: number;
  readonly command: string;
}

/** Every `new …Command(` of the code that asks AWS. */
function madeSites(): Site[] {
  const files = globSync(["src/**/*.ts", "tools/restore/*.ts"], { cwd: projectRoot });
  return files.flatMap((file) => {
    const lines = readFileSync(projectRoot + file, "utf8").split("\n");
    return lines.flatMap((text, i) => {
      const [, command] = /\bnew (\w+)Command\(/.exec(text) ?? [];
      return command === undefined ? [] : [{ file, line: i + 1, command }];
    });
  });
}

/**
 * The places that no process has used. `used` has `<file>:<line> <command>` of what was sent: a
 * command is made in the same function, so of a file's places that make it, in the nearest one.
 */
export function unusedSites(used: Iterable<string>): string[] {
  const made = madeSites();
  const reached = new Set<Site>();
  for (const each of used) {
    const [, file, line, command] = /^(.*):(\d+) (\w+)$/.exec(each) ?? [];
    const [nearest] = made
      .filter((site) => site.file === file && site.command === command)
      .toSorted((a, b) => Math.abs(a.line - Number(line)) - Math.abs(b.line - Number(line)));
    // The SDK's own waiters make commands, too.
    if (nearest) reached.add(nearest);
  }
  return made.filter((site) => !reached.has(site)).map(({ file, command }) => `${file} ${command}`);
}
