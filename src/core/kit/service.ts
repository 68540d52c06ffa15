/** All collections are layers of one service: its id where clients name a service. */
export const SERVICE_ID = 'default';
