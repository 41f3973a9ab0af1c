/** Reads of programs, and the copies of programs that a process keeps. */

import type { Page, PageRequest } from "../../platform/ports/pages.ts";
import type { Milliseconds } from "../../platform/words/units.ts";
import type { Program } from "../rules/program.ts";
import type { RuleChange } from "../rules/rule-changes.ts";

export interface ProgramReader {
  programs(page: PageRequest): Promise<Page<Program>>;
  /** Lists the changes of a program's rules, the latest first. */
  ruleChanges(programId: string, page: PageRequest): Promise<Page<RuleChange>>;
}

/** Sends reports about programs to people. */
export interface RuleReporter {
  /**
   * Sends what has become of a change of rules. Throws `ReportUncertain` when the report may
   * have been sent, and any other error when it was not.
   */
  sendRuleChange(report: RuleChangeReport): Promise<void>;
}

/** The content of a report on a change of rules. */
export interface RuleChangeReport {
  readonly programId: string;
  readonly change: RuleChange;
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
  /**
   * The newest copy, for a decision: calls wait before they are decided, and a process may have
   * been stopped meanwhile. A use case calls `get` or `read` before. Throws PROGRAM_STALE when the
   * copy was read a minute ago or earlier, by either clock.
   */
  current(programId: string): Program;
  /** As `current`, but undefined when the copy was read `maxAgeMs` ago or earlier. */
  recent(programId: string, maxAgeMs: Milliseconds): Program | undefined;
}
