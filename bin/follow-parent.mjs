// Ends this process, in order, when the one that started it is gone: killed outright, it cannot tell us.

const POLL_MS = 500;

const parent = process.ppid;
const timer = setInterval(() => {
  if (process.ppid === parent) return;
  clearInterval(timer);
  process.kill(process.pid, 'SIGTERM');
}, POLL_MS);
timer.unref();
