/** The program that a request names. */

/** The program that the setup creates. */
export const defaultProgramId = "default";

/** The program of a request; an empty program_id means the default program. */
export const toProgramId = (programId: string): string => programId || defaultProgramId;
