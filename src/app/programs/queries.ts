/** The use cases that read programs. */
import { type BulkRules, defaultBulkRules, type Program } from "../../domain/program.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { programRef } from "../ports/records.ts";
import { programNotFound } from "./change-program.ts";

/** Reads the stored program, not the copy of this process. Refusal: PROGRAM_NOT_FOUND. */
export async function getProgram(deps: Pick<Deps, "reader">, programId: string): Promise<Program> {
  const found = await deps.reader.get(programRef(programId));
  if (!found) throw programNotFound(programId);
  return found.value;
}

/** Reads the stored rules of a program for bulk grants. Refusal: PROGRAM_NOT_FOUND. */
export async function getBulkRules(
  deps: Pick<Deps, "reader">,
  programId: string,
): Promise<BulkRules> {
  const { bulkRules = defaultBulkRules } = await getProgram(deps, programId);
  return bulkRules;
}

/** Lists the programs by id. */
export const listPrograms = (
  deps: Pick<Deps, "reader">,
  page: PageRequest,
): Promise<Page<Program>> => deps.reader.programs(page);
