/** Reads of programs, and the copies of programs that a process keeps. */
import type { Program } from "../../domain/program.ts";
import type { Page, PageRequest } from "./pages.ts";

export interface ProgramReader {
  programs(page: PageRequest): Promise<Page<Program>>;
}

/** The copies of programs that this process keeps. Throws PROGRAM_NOT_FOUND and PROGRAM_STALE. */
export interface Programs {
  get(programId: string): Promise<Program>;
}
