/** Who makes a call. */

/** The calling service, and the person or workload for which it calls. */
export interface Caller {
  /** Names the service. All its instances share it, so that any of them may repeat a call. */
  readonly service: string;
  /** Names the person or workload; the service itself where there is none. */
  readonly subject: string;
}

/** A caller that acts for itself. */
export const asService = (service: string): Caller => ({ service, subject: service });
