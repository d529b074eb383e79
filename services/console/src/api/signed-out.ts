/** The name under which the tab's session storage says that its user has signed out, so that the next sign-in asks who it is. */
export const signedOut = 'omnibus-signed-out';
