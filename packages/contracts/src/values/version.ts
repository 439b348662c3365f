/** Version of this release, shown by services and command line. */
export const VERSION = '0.2.0';
