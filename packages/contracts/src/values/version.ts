/** Of this release: services and command line say it of themselves. */
export const VERSION = '0.1.0';
