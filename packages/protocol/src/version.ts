/** The version of the gateway, as it introduces itself to clients and servers and on the command line. */
export const version = '0.3.0';
