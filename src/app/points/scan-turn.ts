/** Lets one liability report and one export of a program read its accounts at a time. */
import type { Deps } from "../ports/deps.ts";
import { leaseRef } from "../ports/records.ts";
import { changeRecord } from "../shared/change-record.ts";

/** A workflow that reads all accounts of a program. */
interface ScanRun {
  readonly programId: string;
  /** Workflows of one kind take turns. */
  readonly kind: "liability-report" | "export-ledger";
  readonly workflowId: string;
}

/**
 * Takes the turn among the workflows of a program and a kind, and returns undefined; while another
 * one has it and runs, returns the id of that workflow. The turn of a workflow that has ended is
 * taken over, however it ended, so a turn needs no release. To be called before each step, because
 * a run that was reset may have lost its turn. Throws WORKFLOWS_UNAVAILABLE.
 */
export async function takeScanTurn(
  deps: Pick<Deps, "engine" | "reader" | "workflows">,
  { programId, kind, workflowId }: ScanRun,
): Promise<string | undefined> {
  const ref = leaseRef(`${kind}/${programId}`);
  const found = (await deps.reader.get(ref))?.value;
  if (found?.holder === workflowId) return undefined;
  if (found && (await deps.workflows.isRunning(found.holder))) return found.holder;
  const { record } = await changeRecord(deps, { ref }, (lease) =>
    lease?.beat === found?.beat ? { holder: workflowId, beat: (lease?.beat ?? 0) + 1 } : lease,
  );
  return record?.holder === workflowId ? undefined : record?.holder;
}
