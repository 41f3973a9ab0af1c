/** Says what the buttons of the Web UI do to a run: the beginning of its details. */

/**
 * Of a run that follows a record, which a run is started for as long as it is open. `cancels` says
 * what becomes of the record.
 */
export const endsWithRecord = (cancels: string, resets = "changes nothing"): string =>
  `**Request Cancellation** ${cancels}. **Terminate** does not: a new run starts within a ` +
  `minute and continues. **Reset** ${resets}: the record decides.`;

/**
 * Of a run whose steps may be repeated. `goesOn` says what does the rest of its work, `repeated`
 * what a repeated step does.
 */
export const endsRunOnly = (goesOn: string, repeated = "changes nothing that is done"): string =>
  "**Request Cancellation** and **Terminate** end this run, and what it has done stays: " +
  `${goesOn}. **Reset** repeats its steps, which ${repeated}.`;

/** Of a run of a schedule. */
export const endsRunOfSchedule = (repeated?: string): string =>
  endsRunOnly("the next run of its schedule does the rest, and Trigger starts one", repeated);
