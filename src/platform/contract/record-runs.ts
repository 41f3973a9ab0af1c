/** The signal and the query of each run that follows a record. */

/** The signal upon which a run reads its record again. */
export const refreshSignal = "refresh";

/** The query for what a run waits for or does, as operators read it. */
export const detailsQuery = "details";
