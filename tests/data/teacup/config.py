# An experiment of TEACUP 1.0: two LANs, a router, three staggered flows, in Python 2.
import sys
import datetime
from fabric.api import env

env.user = 'root'
env.password = 'rootpw'
env.shell = '/bin/sh -c'

execfile('common.py')
print 'loading the configuration'

TPCONF_script_path = '/home/teacup/teacup-1.0'
sys.path.append(TPCONF_script_path)
TPCONF_debug_level = 0

TPCONF_router = ['newtcprt3', ]
TPCONF_hosts = ['newtcp20', 'newtcp21', 'newtcp22', 'newtcp27', 'newtcp28', 'newtcp29']
TPCONF_host_internal_ip = {
    'newtcprt3': ['172.16.10.1', '172.16.11.1'],
    'newtcp20': ['172.16.10.60'],
    'newtcp21': ['172.16.10.61'],
    'newtcp22': ['172.16.10.62'],
    'newtcp27': ['172.16.11.67'],
    'newtcp28': ['172.16.11.68'],
    'newtcp29': ['172.16.11.69'],
}
TPCONF_host_os = {
    'newtcprt3': 'Linux', 'newtcp20': 'Linux', 'newtcp21': 'FreeBSD', 'newtcp22': 'Linux',
    'newtcp27': 'Linux', 'newtcp28': 'Linux', 'newtcp29': 'Linux',
}

now = datetime.datetime.today()
TPCONF_test_id = now.strftime("%Y%m%d-%H%M%S") + '_experiment'

TPCONF_router_queues = [
    ('1', " source='172.16.10.0/24', dest='172.16.11.0/24', delay=V_delay, loss=V_loss, rate=V_up_rate, " +
          "queue_disc=V_aqm, queue_size=V_bsize "),
    ('2', " source='172.16.11.0/24', dest='172.16.10.0/24', delay=V_delay, loss=V_loss, rate=V_down_rate, " +
          "queue_disc=V_aqm, queue_size=V_bsize "),
]

traffic_iperf = [
    ('0.0', '1', " start_iperf, client='newtcp27', server='newtcp20', port=5000, duration=V_duration "),
    ('20.0', '2', " start_iperf, client='newtcp28', server='newtcp21', port=5001, duration=V_duration "),
    ('40.0', '3', " start_iperf, client='newtcp29', server='newtcp22', port=5002, duration=V_duration "),
    ('0.0', '4', " start_ping, client='newtcp27', dest='newtcp20', rate=2 "),
    ('0.0', '5', " start_http_server, server='newtcp27', port=80 "),
]
TPCONF_traffic_gens = traffic_iperf

TPCONF_duration = 60
TPCONF_runs = 2
TPCONF_ECN = ['0', ]
TPCONF_TCP_algos = ['newreno', 'cubic', ]
TPCONF_delays = [10, 100]
TPCONF_loss_rates = [0]
TPCONF_bandwidths = [('10mbit', '10mbit'), ]
TPCONF_aqms = ['pfifo', 'codel', 'fq_codel']
TPCONF_buffer_sizes = [180]

TPCONF_parameter_list = {
    'delays': (['V_delay'], ['del'], TPCONF_delays, {}),
    'loss': (['V_loss'], ['loss'], TPCONF_loss_rates, {}),
    'tcpalgos': (['V_tcp_cc_algo'], ['tcp'], TPCONF_TCP_algos, {}),
    'aqms': (['V_aqm'], ['aqm'], TPCONF_aqms, {}),
    'bsizes': (['V_bsize'], ['bs'], TPCONF_buffer_sizes, {}),
    'runs': (['V_runs'], ['run'], range(TPCONF_runs), {}),
    'bandwidths': (['V_down_rate', 'V_up_rate'], ['down', 'up'], TPCONF_bandwidths, {}),
}
TPCONF_variable_defaults = {
    'V_ecn': TPCONF_ECN[0],
    'V_duration': TPCONF_duration,
    'V_delay': TPCONF_delays[0],
    'V_loss': TPCONF_loss_rates[0],
    'V_tcp_cc_algo': TPCONF_TCP_algos[0],
    'V_down_rate': TPCONF_bandwidths[0][0],
    'V_up_rate': TPCONF_bandwidths[0][1],
    'V_aqm': TPCONF_aqms[0],
    'V_bsize': TPCONF_buffer_sizes[0],
}
TPCONF_vary_parameters = ['tcpalgos', 'delays', 'aqms', 'runs', ]
