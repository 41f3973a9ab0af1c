/** The errors that an operator has to correct before a process can start. */

/** Says what is wrong with a variable. The text follows its name: `has to be a whole number`. */
export type Report = (name: string, text: string) => void;

/** An error that an operator has to correct. It is no bug, so it is shown without a stack. */
export class OperatorError extends Error {
  override readonly name: string = "OperatorError";
}

/** The variables are wrong. */
export class ConfigError extends OperatorError {
  override readonly name = "ConfigError";
  /** The problem of each wrong variable, by its name. */
  readonly problems: ReadonlyMap<string, string>;

  constructor(problems: ReadonlyMap<string, string>) {
    const sorted = [...problems].sort();
    const lines = sorted.map(([name, text]) => `  ${name} ${text}`);
    const headline = "the configuration is wrong; docs/run/configuration.md lists the variables";
    super([headline, ...lines].join("\n"));
    this.problems = new Map(sorted);
  }
}

/** Uses the value of a variable, and names the variable when that fails, as for a bad file. */
export function usingVariable<T>(name: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new ConfigError(new Map([[name, `cannot be used: ${(error as Error).message}`]]));
  }
}

/** Runs a process. One that an operator has to correct says so on stderr, and ends with 1. */
export async function runProcess(main: () => Promise<void>): Promise<void> {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
