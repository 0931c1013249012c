# supervisor
