import type { Program } from "../../domain/program.ts";
import type { Deps } from "../ports/deps.ts";
import type { Page, PageRequest } from "../ports/pages.ts";
import { programRef } from "../ports/records.ts";
import { programNotFound } from "./commands.ts";

/** As it is stored now, not as this server has it in its copy. Refusal: PROGRAM_NOT_FOUND. */
export async function getProgram(deps: Pick<Deps, "reader">, id: string): Promise<Program> {
  const found = await deps.reader.get(programRef(id));
  if (!found) throw programNotFound(id);
  return found.value;
}

/** By id. */
export const listPrograms = (
  deps: Pick<Deps, "reader">,
  page: PageRequest,
): Promise<Page<Program>> => deps.reader.programs(page);
