/** Checks programs: what was acknowledged is stored. */
import { endingOf, type ProgramRecord } from "../record.ts";
import type { State } from "./state.ts";

/** The problems of the programs. */
export const wrongPrograms = (
  records: readonly ProgramRecord[],
  { programs }: Pick<State, "programs">,
): string[] =>
  records.flatMap(({ id, sent }) => {
    const months = programs.get(id)?.lifetimes.at(-1)?.lifetimeMonths;
    const last = sent.findLast((each) => endingOf(each) === "acknowledged");
    const possible = sent.filter((each) => each === last || endingOf(each) === "unknown");
    const refused = sent.filter((each) => endingOf(each) === "refused");
    return [
      ...refused.map(({ request }) => `${request.op} of the program ${id} was refused`),
      ...(last && !possible.some(({ request }) => request.months === months)
        ? [`the program ${id} was to have ${last.request.months} months, and has ${months}`]
        : []),
    ];
  });
