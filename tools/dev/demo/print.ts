/** Prints what the demo does, for people who watch it. */

const columns = 12;

export function section(title: string): void {
  console.log(`\n${title}`);
}

export function say(line: string): void {
  console.log(`  · ${line}`);
}

/** A row of a table, whose cells are right-aligned. */
export function row(...cells: (string | number)[]): void {
  console.log(cells.map((cell) => String(cell).padStart(columns)).join(""));
}

/** One of the results. A wrong one makes the process end with 1. */
export function check(what: string, found: string, isRight: boolean): void {
  if (!isRight) process.exitCode = 1;
  console.log(`  ${isRight ? "✓" : "✗ WRONG"} ${what}: ${found}`);
}

/** Something to look at, and its address. */
export function link(what: string, url: string): void {
  console.log(`  ${what}\n    ${url}`);
}
