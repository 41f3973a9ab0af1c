/** A client that creates programs and lengthens the lifetime of their points. */
import type { Calls } from "../calls.ts";
import type { Attempt, ProgramRecord, Sent } from "../record.ts";

const pauseMs = 8_000;

type Change = ProgramRecord["sent"][number]["request"];

/** Creates one program after the other until it shall stop, and lengthens most of them. */
export async function createPrograms(calls: Calls, name: string, records: ProgramRecord[]) {
  for (let i = 0; !calls.over.aborted; i++) {
    const sent: Sent<Change>[] = [];
    const programId = `${name}-${i}`;
    records.push({ id: programId, sent });
    const change = (request: Change) => {
      const attempts: Attempt[] = [];
      sent.push({ request, attempts });
      return calls.send<unknown>(attempts, ({ programs }) =>
        request.op === "create"
          ? programs.createProgram({
              ...{ programId, lifetimeMonths: request.months },
              bulkRules: { requiredApprovalCount: 0 },
            })
          : programs.updateProgram({ program: { programId, lifetimeMonths: request.months } }),
      );
    };
    const created = await change({ op: "create", months: 12 });
    if (created && calls.random() < 0.7) await change({ op: "lengthen", months: 24 });
    await calls.pause(pauseMs);
  }
}
