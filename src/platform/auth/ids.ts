/** The form of the names of services, people and workloads. */

/** 1 to 64 visible ASCII characters without "#". */
export const servicePattern = /^[!-"$-~]{1,64}$/;

/** 1 to 128 visible ASCII characters without "#". */
export const subjectPattern = /^[!-"$-~]{1,128}$/;
