/** The use cases that read programs. */

import { allPages, type Page, type PageRequest } from "../../../platform/ports/pages.ts";
import { waitingSince } from "../../../platform/ports/waiting.ts";
import type { Deps } from "../../ports/deps.ts";
import type { WaitingRules } from "../../ports/observers.ts";
import { programRef, ruleChangeRef } from "../../ports/records.ts";
import type { BulkRules } from "../../rules/bulk-rules.ts";
import type { Program } from "../../rules/program.ts";
import { ruleChangeState } from "../../rules/rule-changes.ts";
import { programNotFound } from "./change-program.ts";
import {
  type RuledProgram,
  ruledProgram,
  type ShownRuleChange,
  shownRuleChange,
} from "./ruled-program.ts";

/** Reads the stored program, not the copy of this process. Refusal: PROGRAM_NOT_FOUND. */
export async function getProgram(deps: Pick<Deps, "reader">, programId: string): Promise<Program> {
  const found = await deps.reader.get(programRef(programId));
  if (!found) throw programNotFound(programId);
  return found.value;
}

/** Reads the rules of a program for bulk grants in force. Refusal: PROGRAM_NOT_FOUND. */
export async function getBulkRules(
  deps: Pick<Deps, "reader">,
  programId: string,
): Promise<BulkRules> {
  const { bulkRules } = await withRules(deps, await getProgram(deps, programId));
  return bulkRules;
}

/** Adds the stored rules to a program. */
export async function withRules(
  { reader }: Pick<Deps, "reader">,
  program: Program,
): Promise<RuledProgram> {
  const change = await reader.get(ruleChangeRef(program.programId));
  return ruledProgram(program, change?.value);
}

/** Lists the programs by id. */
export async function listPrograms(
  { reader }: Pick<Deps, "reader">,
  page: PageRequest,
): Promise<Page<RuledProgram>> {
  const found = await reader.programs(page);
  const refs = found.items.map(({ programId }) => ruleChangeRef(programId));
  const changes = await reader.many(refs);
  return { ...found, items: found.items.map((each, i) => ruledProgram(each, changes[i])) };
}

/** Reads all programs, by id. */
export async function readAllPrograms({ reader }: Pick<Deps, "reader">): Promise<Program[]> {
  const all: Program[] = [];
  for await (const programs of allPages(200, (page) => reader.programs(page)))
    all.push(...programs);
  return all;
}

/** Counts the changes of rules that wait for an approval, since they were proposed. */
export async function readWaitingRules(
  { reader, clock }: Pick<Deps, "reader" | "clock">,
  programs: readonly Program[],
): Promise<WaitingRules> {
  const changes = await reader.many(programs.map(({ programId }) => ruleChangeRef(programId)));
  const { wall } = await clock.now();
  const proposeTimes = changes.flatMap((change) =>
    change && ruleChangeState(change) === "PROPOSED" ? change.proposeTime : [],
  );
  return waitingSince(proposeTimes, wall);
}

/** Lists the changes of a program's rules, the latest first. Refusal: PROGRAM_NOT_FOUND. */
export async function listRuleChanges(
  deps: Pick<Deps, "reader">,
  programId: string,
  page: PageRequest,
): Promise<Page<ShownRuleChange>> {
  await getProgram(deps, programId);
  const found = await deps.reader.ruleChanges(programId, page);
  const shown = found.items.map((change) => shownRuleChange(programId, change));
  return { ...found, items: shown };
}
