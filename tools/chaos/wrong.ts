/** Groups the problems of a run into so few lines that people find the cause. */

/** The limit of different lines that are shown. Those beyond it are counted. */
const mostLines = 20;

/** Each different line once, with how often it is there, and how many others there are. */
export function inGroups(lines: readonly string[]): string[] {
  const groups = [...Map.groupBy(lines, (line) => line)].map(([line, { length }]) =>
    length === 1 ? line : `${line} (${length} times)`,
  );
  const others = groups.length - mostLines;
  return others > 0 ? [...groups.slice(0, mostLines), `and ${others} other lines`] : groups;
}

export interface Surprises {
  /** All of them, with those that are there several times. */
  readonly all: string[];
  add(what: string): void;
}

/** Says each different surprise when it comes first: a run that is interrupted has no other. */
export function createSurprises(say: (line: string) => void): Surprises {
  const all: string[] = [];
  const said = new Set<string>();
  return {
    all,
    add(what) {
      all.push(what);
      if (said.has(what) || said.size >= mostLines) return;
      said.add(what);
      say(`WRONG: ${what}`);
    },
  };
}
