/** Reads of programs, and the copies of programs that a process keeps. */
import type { Program } from "../../domain/program.ts";
import type { Page, PageRequest } from "./pages.ts";

export interface ProgramReader {
  programs(page: PageRequest): Promise<Page<Program>>;
}

/** The copies of programs that this process keeps. Throws PROGRAM_NOT_FOUND. */
export interface Programs {
  /** The copy, which may be up to a minute old. Throws PROGRAM_STALE when it cannot be renewed. */
  get(programId: string): Promise<Program>;
  /**
   * Reads the program, strongly consistent, and renews the copy. A call joins a read of this
   * process that is under way. Throws STORE_UNAVAILABLE.
   */
  read(programId: string): Promise<Program>;
}
